"""One of our energies in the form that the official package's trees have.

There, a node is four int16: left child, right child, column, value; a negative child ~k is leaf k, and the
root is node 0. An ordered column goes right where the code is at least the value, an unordered one where it
equals the value. A split of an unordered column into two sets of levels is a chain of nodes, one per level of
one of the sets (the smaller one: the least work for the official package), that share their right child.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from energyboost.model.energy import Energy
from energyboost.model.tree import Tree

LARGEST = 2**15 - 1  # nodes of a tree


def official_arrays(energy: Energy) -> dict[str, npt.NDArray[Any]]:
    """The domain, the baseline and the trees, laid end to end: what the worker builds its model from."""
    sizes, ordered = energy.domain.sizes, energy.domain.ordered
    if max(sizes) > 256:
        raise ValueError(f"the official package has at most 256 codes per column, this model {max(sizes)}")
    nodes = [_nodes(tree, sizes, ordered) for tree in energy.trees]
    return {
        "sizes": np.array(sizes),
        "ordered": np.array(ordered),
        "marginals": np.concatenate([energy.baseline.column(j) for j in range(energy.domain.n_columns)]),
        "nodes": np.concatenate(nodes),
        "n_nodes": np.array([len(part) for part in nodes]),
        "leaf_values": np.concatenate([tree.leaf_value for tree in energy.trees]),
        "n_leaves": np.array([tree.n_leaves for tree in energy.trees]),
    }


def _nodes(tree: Tree, sizes: tuple[int, ...], ordered: tuple[bool, ...]) -> npt.NDArray[np.int16]:
    """The nodes of one tree, each followed by its left and then its right subtree."""
    rows: list[list[int]] = []
    every_level = {j: frozenset(range(size)) for j, size in enumerate(sizes) if not ordered[j]}
    # what is still to be written: our node, the levels that reach it, the rows and the field that point to it
    waiting: list[tuple[int, dict[int, frozenset[int]], range, int]] = [(0, every_level, range(0), 0)]
    while waiting:
        node, levels, parents, field = waiting.pop()
        if node < 0:
            place = node
        else:
            place = len(rows)
            column, left, right = int(tree.column[node]), int(tree.left[node]), int(tree.right[node])
            if ordered[column]:
                values, levels_left, levels_right = [int(tree.threshold[node])], levels, levels
            else:
                chained = _levels_left(tree, node, levels[column])
                rest = levels[column] - chained
                if not (chained and rest):
                    raise ValueError(f"node {node} splits no level off column {column}")
                if len(chained) > len(rest):
                    chained, rest = rest, chained
                else:
                    left, right = right, left  # the chained levels go right there
                values = sorted(chained)
                levels_left, levels_right = levels | {column: rest}, levels | {column: chained}
            rows.extend([place + i + 1, 0, column, value] for i, value in enumerate(values))
            chain = range(place, len(rows))
            waiting.append((right, levels_right, chain, 1))
            waiting.append((left, levels_left, chain[-1:], 0))
        for parent in parents:
            rows[parent][field] = place
    if not 0 < len(rows) <= LARGEST:
        raise ValueError(f"the official package has 1 to {LARGEST:,} nodes per tree, this tree {len(rows):,}")
    return np.array(rows, np.int16)


def _levels_left(tree: Tree, node: int, levels: frozenset[int]) -> frozenset[int]:
    """Those of ``levels`` that go left at ``node``."""
    words = tree.mask_bits[tree.mask_start[node] :]
    return frozenset(level for level in levels if int(words[level >> 6]) >> (level & 63) & 1)
