"""Walking trees from the root: the leaf and the energy of whole rows."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def _leaf(trees, tree, row):
    first = trees.node_start[tree]
    if trees.node_start[tree + 1] == first:
        return 0
    node = 0
    while node >= 0:
        at = first + node
        code = row[trees.column[at]]
        start = trees.mask_start[at]
        if start < 0:
            goes_left = code < trees.threshold[at]
        else:
            goes_left = (trees.mask_bits[start + (code >> 6)] >> np.uint64(code & 63)) & np.uint64(1) != 0
        node = trees.left[at] if goes_left else trees.right[at]
    return ~node


@njit(nogil=True, cache=True)
def leaves(trees, tree, codes, out):
    """Write the leaf of ``tree`` that each row falls in."""
    for i in range(codes.shape[0]):
        out[i] = _leaf(trees, tree, codes[i])


@njit(nogil=True, cache=True)
def energies(trees, first_tree, last_tree, codes, out):
    """Add the leaf values of trees ``first_tree .. last_tree - 1`` to ``out``; tree by tree, to stay cached."""
    for t in range(first_tree, last_tree):
        for i in range(codes.shape[0]):
            out[i] += trees.leaf_value[trees.leaf_start[t] + _leaf(trees, t, codes[i])]
