"""One finished tree: flat arrays, leaves numbered from left to right."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from energyboost.kernels.arrays import Columns, Trees
from energyboost.kernels.walk import leaves


@dataclass(frozen=True, slots=True)
class Tree:
    """A binary tree over codes; the fields are those of :class:`~energyboost.kernels.arrays.Trees`."""

    column: npt.NDArray[np.int32]
    threshold: npt.NDArray[np.int32]
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    mask_start: npt.NDArray[np.int64]
    mask_bits: npt.NDArray[np.uint64]
    leaf_value: npt.NDArray[np.float64]

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaf_value)

    @property
    def arrays(self) -> Trees:
        """The tree alone, as kernels read it."""
        return join([self])

    def with_values(self, leaf_value: npt.NDArray[np.float64]) -> "Tree":
        """The same partition with other leaf values."""
        return replace(self, leaf_value=leaf_value)

    def leaves(self, codes: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.int32]:
        """The leaf that each row falls in."""
        out = np.empty(len(codes), np.int32)
        leaves(self.arrays, 0, codes, out)
        return out


def join(trees: list[Tree]) -> Trees:
    """Lay trees one behind the other."""

    def starts(lengths: list[int]) -> npt.NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)

    def laid(name: str, dtype: type) -> npt.NDArray[Any]:
        return np.concatenate([np.empty(0, dtype), *(getattr(tree, name) for tree in trees)]).astype(dtype, copy=False)

    word_start = starts([len(tree.mask_bits) for tree in trees])
    shifted = [
        np.where(tree.mask_start >= 0, tree.mask_start + first, -1)
        for tree, first in zip(trees, word_start[:-1], strict=True)
    ]
    return Trees(
        node_start=starts([len(tree.column) for tree in trees]),
        leaf_start=starts([tree.n_leaves for tree in trees]),
        column=laid("column", np.int32),
        threshold=laid("threshold", np.int32),
        left=laid("left", np.int32),
        right=laid("right", np.int32),
        mask_start=np.concatenate([np.empty(0, np.int64), *shifted]),
        mask_bits=laid("mask_bits", np.uint64),
        leaf_value=laid("leaf_value", np.float64),
    )


def split(trees: Trees) -> list[Tree]:
    """The inverse of :func:`join`."""
    parts = []
    for t in range(len(trees.node_start) - 1):
        nodes = slice(trees.node_start[t], trees.node_start[t + 1])
        masks = trees.mask_start[nodes]
        first = masks[masks >= 0].min(initial=len(trees.mask_bits))
        later = trees.mask_start[trees.node_start[t + 1] :]
        last = later[later >= 0].min(initial=len(trees.mask_bits))
        parts.append(
            Tree(
                trees.column[nodes],
                trees.threshold[nodes],
                trees.left[nodes],
                trees.right[nodes],
                np.where(masks >= 0, masks - first, -1),
                trees.mask_bits[first:last],
                trees.leaf_value[trees.leaf_start[t] : trees.leaf_start[t + 1]],
            )
        )
    return parts


def from_splits(
    columns: Columns,
    split_leaf: npt.NDArray[np.int32],
    column: npt.NDArray[np.int32],
    threshold: npt.NDArray[np.int32],
    mask: npt.NDArray[np.uint64],
) -> tuple[Tree, npt.NDArray[np.int64]]:
    """A tree (leaf values zero) from its splits in order: split n made ``split_leaf[n]`` into itself and n + 1.

    Also returns, for each leaf in its new order from left to right, its old number.
    """
    n_nodes = len(split_leaf)
    left, right = np.full(n_nodes, -1, np.int32), np.full(n_nodes, -1, np.int32)
    parent: dict[int, tuple[npt.NDArray[np.int32], int]] = {}
    for node, leaf in enumerate(split_leaf.tolist()):
        if leaf in parent:
            children, above = parent[leaf]
            children[above] = node
        parent[leaf], parent[node + 1] = (left, node), (right, node)
    order: list[int] = []
    stack = [(0, False)] if n_nodes else []
    # (node, right child?) pairs; a leaf below node n's left side is split_leaf[n], below its right side n + 1
    while stack:
        node, is_right = stack.pop()
        side = right if is_right else left
        child = int(side[node])
        if not is_right:
            stack.append((node, True))
        if child >= 0:
            stack.append((child, False))
        else:
            side[node] = ~len(order)
            order.append(node + 1 if is_right else int(split_leaf[node]))
    ordered = columns.ordered[column] if n_nodes else np.empty(0, bool)
    n_words = np.where(ordered, 0, (columns.size[column] + 63) // 64) if n_nodes else np.empty(0, np.int64)
    ends = np.cumsum(n_words, dtype=np.int64)
    bits = [mask[node, : n_words[node]] for node in range(n_nodes)]
    tree = Tree(
        column.copy(),
        np.where(ordered, threshold, -1).astype(np.int32),
        left,
        right,
        np.where(ordered, -1, ends - n_words),
        np.concatenate([np.empty(0, np.uint64), *bits]),
        np.zeros(n_nodes + 1),
    )
    return tree, np.asarray(order or [0], np.int64)
