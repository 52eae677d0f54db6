"""Tiny domains, enumerated: every cell, Z, every conditional, the best split, the transition matrix of a sweep."""

import itertools
import math
from fractions import Fraction

import numpy as np

from tests import naive


def cells(domain):
    """Every row there can be, the last column running fastest."""
    return np.array(list(itertools.product(*map(range, domain.sizes))), domain.code_dtype)


def cell_numbers(domain, codes):
    """The number of each row's cell in :func:`cells`."""
    return np.ravel_multi_index(tuple(np.asarray(codes, np.int64).T), domain.sizes)


def energies(energy, n_trees=None):
    """The energy of every cell."""
    return np.array([naive.energy_of(energy, row, n_trees) for row in cells(energy.domain)])


def log_z(energy, n_trees=None):
    """log Z by summing over all cells."""
    f = energies(energy, n_trees)
    return math.log(math.fsum(np.exp(f - f.max()))) + f.max()


def probabilities(energy, n_trees=None, temperature=1.0):
    """The probability of every cell, exp(f / temperature) / Z."""
    return naive.softmax(energies(energy, n_trees) / temperature)


def shares(domain, codes):
    """How often each cell occurs among rows, as a share."""
    return np.bincount(cell_numbers(domain, codes), minlength=math.prod(domain.sizes)) / len(codes)


def conditional(domain, probability, row, column):
    """The distribution of a column given the other cells of a row."""
    index = [int(code) for code in row]
    index[column] = slice(None)
    slice_ = probability.reshape(domain.sizes)[tuple(index)]
    return slice_ / slice_.sum()


def site_matrix(domain, probability, column):
    """Transition probabilities of drawing one column anew from its conditional."""
    rows = cells(domain)
    matrix = np.zeros((len(rows), len(rows)))
    for here, row in enumerate(rows):
        for code, share in enumerate(conditional(domain, probability, row, column)):
            there = row.copy()
            there[column] = code
            matrix[here, cell_numbers(domain, [there])[0]] = share
    return matrix


def sweep_matrix(domain, probability, free=None):
    """Transition probabilities of a sweep over the free columns, in their order."""
    matrix = np.eye(len(probability))
    for column in range(domain.n_columns) if free is None else free:
        matrix = matrix @ site_matrix(domain, probability, column)
    return matrix


def reflected_site_matrix(domain, probability, column):
    """Transition probabilities of reflecting one column: where so much lay below, so much lies above.

    A code is the stretch of [0, 1] that its probability takes; it goes to the codes that its mirror image overlaps.
    """
    rows = cells(domain)
    matrix = np.zeros((len(rows), len(rows)))
    for here, row in enumerate(rows):
        share = conditional(domain, probability, row, column)
        below = np.concatenate([[0], np.cumsum(share)])
        low, high = 1 - below[row[column] + 1], 1 - below[row[column]]
        for code in range(len(share)):
            there = row.copy()
            there[column] = code
            overlap = max(0.0, min(high, below[code + 1]) - max(low, below[code]))
            matrix[here, cell_numbers(domain, [there])[0]] = overlap / (high - low)
    return matrix


def reflected_sweep_matrix(domain, probability):
    """Transition probabilities of a sweep that reflects ordered columns and draws the others anew."""
    matrix = np.eye(len(probability))
    for column, ordered in enumerate(domain.ordered):
        matrix = matrix @ (reflected_site_matrix if ordered else site_matrix)(domain, probability, column)
    return matrix


def pair_matrix(domain, probability, outer, inner, stride=1):
    """Transition probabilities of drawing two columns jointly from their conditional, the outer one in strides."""
    rows = cells(domain).astype(int)
    others = [j for j in range(domain.n_columns) if j not in (outer, inner)]
    same = (rows[:, None, others] == rows[None, :, others]).all(axis=2)
    same &= (rows[:, None, outer] - rows[None, :, outer]) % stride == 0
    matrix = same * probability
    return matrix / matrix.sum(axis=1, keepdims=True)


def slowness(matrix):
    """How many draws of a chain are worth one independent draw, at most: (1 + λ) / (1 - λ), λ its second eigenvalue."""
    second = np.sort(np.abs(np.linalg.eigvals(matrix)))[-2]
    return (1 + second) / (1 - second)


def gain(p_left, q_left, p_right, q_right):
    """The gain of a split [eq:split], as a fraction."""
    p_left, q_left, p_right, q_right = map(Fraction, (p_left, q_left, p_right, q_right))
    return p_left**2 / q_left + p_right**2 / q_right - (p_left + p_right) ** 2 / (q_left + q_right)


def best_gain(p, q, ways):
    """The largest gain over some sets of codes going left; None where none leaves model on both sides."""
    gains = []
    for left in ways:
        right = [k for k in range(len(p)) if k not in left]
        sums = [
            sum(map(Fraction, (values[k] for k in side)), Fraction(0)) for side in (left, right) for values in (p, q)
        ]
        if sums[1] > 0 and sums[3] > 0:
            gains.append(gain(*sums))
    return max(gains, default=None)


def cuts(order):
    """The sets of codes going left that cutting an order once can give."""
    return [tuple(order[:cut]) for cut in range(1, len(order))]


def subsets(n):
    """Every set of codes going left but none and all."""
    return [left for size in range(1, n) for left in itertools.combinations(range(n), size)]


def divergence(p, q):
    """KL(p || q)."""
    return math.fsum(float(a) * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0)
