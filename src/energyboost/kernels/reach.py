"""From leaf sets to the leaves that a row can reach."""

import numpy as np
from numba import njit
from numba.cpython.unsafe.numbers import trailing_zeros

from energyboost.kernels.arrays import Columns, LeafSets, Treelets
from energyboost.kernels.vectors import FAST, borrowed, kept_by, prefetch

ONE, TOP = np.uint64(1), np.uint64(1 << 63)
ALL = ~np.uint64(0)
AHEAD = np.uint64(24)  # treelets asked for before they are looked at


@njit(nogil=True)
def borrowed_sets(sets):
    """Leaf sets whose references are not counted."""
    t = sets.treelets
    treelets = Treelets(
        borrowed(t.column), borrowed(t.threshold), borrowed(t.path), borrowed(t.first), borrowed(t.set_start),
        borrowed(t.n_sets), borrowed(t.set_column), borrowed(t.set_word), borrowed(t.set_keep), borrowed(t.mask_bits),
    )  # fmt: skip
    return LeafSets(
        borrowed(sets.words), borrowed(sets.tree_row), borrowed(sets.step), borrowed(sets.value), borrowed(sets.lower),
        borrowed(sets.levels), borrowed(sets.levels_start), borrowed(sets.box_value),
        borrowed(sets.box_lower), borrowed(sets.box_upper), borrowed(sets.first_slot),
        sets.n_levels, treelets,
    )  # fmt: skip


@njit(nogil=True)
def borrowed_columns(columns):
    """Columns whose references are not counted."""
    return Columns(
        borrowed(columns.size), borrowed(columns.ordered), borrowed(columns.start), borrowed(columns.level_start)
    )


@njit(nogil=True, fastmath=FAST, error_model="numpy")
def set_bits(words, first, found, positions):
    """Write the leaf or treelet of each set bit, where bit 0 of word q is ``first[q]``; returns their number.

    Most words are empty, most others hold few bits.
    """
    n_found = np.uint64(0)
    for q in range(first.shape[0]):
        found[n_found] = q
        n_found += np.uint64(words[q] != np.uint64(0))
    n = np.uint64(0)
    for i in range(n_found):
        q = np.uint64(found[np.uint64(i)])
        word, bit_0 = words[q], np.uint64(first[q])
        for _ in range(3):  # without a branch: a bit that is not there is written over by the next
            positions[n] = bit_0 + np.uint64(trailing_zeros(word | TOP))
            n += np.uint64(word != np.uint64(0))
            word &= word - ONE
        while word != np.uint64(0):
            positions[n] = bit_0 + np.uint64(trailing_zeros(word))
            n += ONE
            word &= word - ONE
    return n


@njit(nogil=True, fastmath=FAST, error_model="numpy")
def room(sets, n_words):
    """Arrays for words, for numbers of words, and twice for slots or leaves: there is room for all a row may reach.

    Kernels write up to two places behind the last.
    """
    n = max(64 * n_words, sets.value.shape[0] if sets.n_levels else 0) + 2
    words, found = np.empty(n_words, np.uint64), np.empty(n_words + 1, np.uint32)
    return words, found, np.empty(n, np.uint32), np.empty(n if sets.n_levels else 0, np.uint32)


@njit(nogil=True, fastmath=FAST, error_model="numpy")
def first_slots(sets, first_tree, n_trees, width):
    """The leaf or treelet that bit 0 of each word of some trees stands for."""
    first = np.empty(n_trees * width, np.uint32)
    for t in range(n_trees):
        for q in range(width):
            first[t * width + q] = sets.first_slot[first_tree + t] + 64 * q
    return first


@njit(nogil=True, fastmath=FAST, error_model="numpy")
def descend(n_levels, treelets, value, row, free, reached, n_reached, others):
    """From reached treelets to the leaves that a row reaches along some columns; returns these and their number.

    ``free`` is a tuple of these columns, uint64: code is made for how many there are. Both ``reached`` and ``others``
    are written over.
    """
    n, children, has_sets = np.uint64(n_reached), others, treelets.set_column.shape[0] > 0
    for i in range(min(n, AHEAD)):
        prefetch(treelets.column, np.uint64(reached[np.uint64(i)]))
    for _ in range(n_levels):
        n_reached, n = n, np.uint64(0)
        for i in range(n_reached):
            treelet = np.uint64(reached[np.uint64(i)])
            prefetch(treelets.column, np.uint64(reached[min(np.uint64(i) + AHEAD, n_reached - ONE)]))
            word = kept_by(treelets.column, treelets.threshold, treelets.path, treelet, row, free)
            first_set = last_set = np.uint64(0)
            if has_sets:
                first_set = np.uint64(treelets.set_start[treelet])
                last_set = first_set + np.uint64(treelets.n_sets[treelet])
            for node in range(first_set, last_set):
                code = np.uint64(row[np.uint64(treelets.set_column[node])])
                levels = treelets.mask_bits[np.uint64(treelets.set_word[node]) + (code >> np.uint64(6))]
                goes_right = ((levels >> (code & np.uint64(63))) & ONE) ^ ONE
                keep = np.uint64(treelets.set_keep[node, goes_right])
                for column in free:
                    keep = keep if np.uint64(treelets.set_column[node]) != column else ALL
                word &= keep
            first = np.uint64(treelets.first[treelet])
            prefetch(value, first + np.uint64(trailing_zeros(word)))
            for _ in range(2):  # without a branch, as in set_bits
                children[n] = first + np.uint64(trailing_zeros(word | TOP))
                n += np.uint64(word != np.uint64(0))
                word &= word - ONE
            while word != np.uint64(0):
                children[n] = first + np.uint64(trailing_zeros(word))
                n += ONE
                word &= word - ONE
        reached, children = children, reached
    return reached, n
