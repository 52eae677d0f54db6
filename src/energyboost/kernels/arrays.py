"""The arrays that kernels share. Every kernel, file and worker reads the same ones."""

from typing import NamedTuple

import numpy as np

# Numba's disk cache of a kernel does not notice when these change: clear it then.
LANES = 16
"""Codes of a column are laid out in runs padded to a multiple of this, so that loops over them vectorise."""

FAN = 16
"""The most children of a treelet: as many bits as one of its sets has."""

PLANE_ROWS = 64
"""Codes of the outer one of two columns that are looked at when both are drawn jointly."""

IMPOSSIBLE = np.float32(-1e30)
"""The energy of a code that cannot occur (a finite stand-in for minus infinity)."""


class Columns(NamedTuple):
    """The codes of all columns laid end to end: code k of column j stands at ``start[j] + k``."""

    size: np.ndarray  # int64 (n_columns,): number of codes
    ordered: np.ndarray  # bool (n_columns,)
    start: np.ndarray  # int64 (n_columns + 1,): multiples of LANES
    level_start: np.ndarray  # int64 (n_columns + 1,): the same for the levels of unordered columns alone, not padded


class Trees(NamedTuple):
    """Finished trees, one behind the other.

    Node n of tree t stands at ``node_start[t] + n``; the root is node 0, parents stand before children, and a
    negative child ~k is leaf k of the same tree. A code goes left where it is below the threshold or, for an
    unordered column, where its bit in the mask is set. Leaves are numbered from left to right.
    """

    node_start: np.ndarray  # int64 (n_trees + 1,)
    leaf_start: np.ndarray  # int64 (n_trees + 1,)
    column: np.ndarray  # int32 (n_nodes,)
    threshold: np.ndarray  # int32 (n_nodes,)
    left: np.ndarray  # int32 (n_nodes,)
    right: np.ndarray  # int32 (n_nodes,)
    mask_start: np.ndarray  # int64 (n_nodes,): first word of the node's mask, -1 where the column is ordered
    mask_bits: np.ndarray  # uint64 (n_words,)
    leaf_value: np.ndarray  # float64 (n_leaves,)


class Treelets(NamedTuple):
    """Small subtrees, each with up to ``FAN`` children: leaves, or treelets further down.

    The first three are fields of one array of records, so that what is read together stands together.

    A node between children i and i + 1 has lane i, if it splits an ordered column. So children up to i want it to go
    left and those behind it to go right, and a row reaches a child if all nodes on its path go its way. The last lane
    is of no node and always goes right: it is on the path of children that are not there. Nodes of unordered columns
    stand in a list, from ``set_start`` on.
    """

    column: np.ndarray  # uint8 or uint16 (n_treelets, FAN)
    threshold: np.ndarray  # code dtype (n_treelets, FAN)
    path: np.ndarray  # uint16 (n_treelets, FAN): of each child, a bit for each lane on its path
    first: np.ndarray  # uint32 (n_treelets,): the first child; the others follow from left to right
    set_start: np.ndarray  # uint32 (n_treelets,)
    n_sets: np.ndarray  # uint16 (n_treelets,)
    set_column: np.ndarray  # uint16 (n_set_nodes,)
    set_word: np.ndarray  # uint32 (n_set_nodes,): first word of the mask
    set_keep: np.ndarray  # uint16 (n_set_nodes, 2): the children kept by a code going left, and going right
    mask_bits: np.ndarray  # uint64 (n_mask_words,): levels going left


class LeafSets(NamedTuple):
    """Trees as sets of leaves, for slices: the leaves that each code admits.

    A *slot* is a bit of a tree's ``width`` words: a leaf or, in trees too large for that, a subtree of up to ``FAN``
    *blocks*, which are subtrees of up to ``FAN`` leaves. Row
    ``tree_row[t] + step[start[j] + k, t]`` of ``words`` holds the slots of tree t that column j admits at code k. The
    slots reachable along column i are the AND over all other columns. Slots run from left to right, so that along an
    ordered column the reachable leaves stand in the order of their codes.
    """

    words: np.ndarray  # uint64 (n_rows, width)
    tree_row: np.ndarray  # uint32 (n_trees,)
    step: np.ndarray  # uint16 or uint32 (n_codes, n_trees)
    value: np.ndarray  # float32 (n_leaf_slots,); this and the next two are fields of one array of records
    lower: np.ndarray  # code dtype (n_leaf_slots, n_columns): first code of an ordered column
    levels: np.ndarray  # uint16 (n_leaf_slots, groups of LANES levels): bits of the levels in an unordered column's set
    levels_start: np.ndarray  # int64 (n_columns,): first group of a column
    box_value: np.ndarray  # float32 (n_leaf_slots,): of a leaf once more, for pairs; with the next two in one record
    box_lower: np.ndarray  # code dtype (n_leaf_slots, n_columns): first code of an ordered column
    box_upper: np.ndarray  # code dtype (n_leaf_slots, n_columns): last code
    first_slot: np.ndarray  # uint32 (n_trees,): the leaf or treelet that slot 0 is; the other slots follow
    n_levels: int  # of treelets, from a slot to a leaf
    treelets: Treelets
