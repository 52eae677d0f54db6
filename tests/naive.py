"""Every kernel as plain loops: slow, and obviously right. Same numbers in, same codes out."""

import math

import numpy as np

# --- trees and energies ---------------------------------------------------------------------------------------------


def goes_left(tree, node, code):
    """Whether a code goes left at a node: below the threshold, or a level whose bit is set."""
    start = int(tree.mask_start[node])
    if start < 0:
        return int(code) < int(tree.threshold[node])
    word = int(tree.mask_bits[start + int(code) // 64])
    return bool(word >> (int(code) % 64) & 1)


def leaf_of(tree, row):
    """The leaf of one row, walked from the root."""
    if len(tree.column) == 0:
        return 0
    node = 0
    while node >= 0:
        side = tree.left if goes_left(tree, node, row[tree.column[node]]) else tree.right
        node = int(side[node])
    return ~node


def leaf_boxes(tree, sizes):
    """For every leaf, the set of codes of each column that it admits."""
    boxes = {}

    def descend(node, box):
        if node < 0:
            boxes[~node] = box
            return
        j = int(tree.column[node])
        left = {k for k in box[j] if goes_left(tree, node, k)}
        descend(int(tree.left[node]), [*box[:j], left, *box[j + 1 :]])
        descend(int(tree.right[node]), [*box[:j], box[j] - left, *box[j + 1 :]])

    whole = [set(range(size)) for size in sizes]
    descend(0 if len(tree.column) else ~0, whole)
    return [boxes[leaf] for leaf in range(len(tree.leaf_value))]


def energy_of(energy, row, n_trees=None):
    """f(x) = f0(x) + sum of trees [eq:ebm], of one row."""
    total = 0.0
    for j, code in enumerate(row):
        probability = energy.baseline.probability[energy.columns.start[j] + int(code)]
        total += math.log(probability) if probability > 0 else -1e30
    for tree in energy.trees[:n_trees]:
        total += float(tree.leaf_value[leaf_of(tree, row)])
    return total


def slice_of(energy, row, column, n_trees=None):
    """The energy of the row with every code of a column in turn."""
    energies = []
    for code in range(energy.domain.sizes[column]):
        changed = [int(c) for c in row]
        changed[column] = code
        energies.append(energy_of(energy, changed, n_trees))
    return np.array(energies)


def softmax(energies):
    """Probabilities proportional to exp(energy)."""
    top = max(energies)
    weights = [math.exp(e - top) for e in energies]
    return np.array(weights) / math.fsum(weights)


# --- sampling -------------------------------------------------------------------------------------------------------


def draw(probabilities, uniform):
    """The code of a uniform number: the first whose cumulative probability exceeds it.

    Also returns how far the number is from the nearest boundary, where rounding could decide otherwise.
    """
    below, code, nearest = 0.0, None, math.inf
    for k, probability in enumerate(probabilities):
        below += probability
        if code is None and uniform < below:
            code = k
        nearest = min(nearest, abs(uniform - below))
    if code is None:
        code = max(k for k, probability in enumerate(probabilities) if probability > 0)
    return code, nearest


def sweep(energy, row, free, uniforms, temperature=1.0, n_trees=None, told=None, reflected=False):
    """One Gibbs sweep over the ``free`` columns of a row: its new codes, and every (code, distance) drawn.

    ``told`` holds codes to go on with instead of the drawn ones, to follow another sampler step by step. If
    ``reflected``, an ordered column goes to where as much lies above as lay below it; the uniform number of a column
    says where within its own share it is.
    """
    row, drawn = [int(code) for code in row], []
    for j in free:
        probabilities = softmax(slice_of(energy, row, j, n_trees) / temperature)
        place = float(uniforms[j])
        if reflected and energy.domain.ordered[j]:
            place = 1 - (math.fsum(probabilities[: row[j]]) + place * probabilities[row[j]])
        drawn.append(draw(probabilities, place))
        row[j] = drawn[-1][0] if told is None else int(told[j])
    return row, drawn


def pair_probabilities(energy, row, outer, inner, temperature=1.0, n_trees=None):
    """The joint distribution of two columns given the others, codes of the outer one by codes of the inner one."""
    sizes = energy.domain.sizes
    start = [int(energy.columns.start[j]) for j in (outer, inner)]
    with np.errstate(divide="ignore"):
        f0 = np.maximum(np.log(energy.baseline.probability), -1e30)
    plane = np.add.outer(*(f0[first : first + sizes[j]] for first, j in zip(start, (outer, inner), strict=True)))
    for tree in energy.trees[:n_trees]:
        for box, value in zip(leaf_boxes(tree, sizes), tree.leaf_value, strict=True):
            if all(int(row[j]) in box[j] for j in range(len(sizes)) if j not in (outer, inner)):
                plane[np.ix_(sorted(box[outer]), sorted(box[inner]))] += value
    return softmax(plane.ravel() / temperature).reshape(plane.shape)


def draw_pair(energy, row, outer, inner, uniforms, temperature=1.0, n_trees=None, told=None):
    """Both codes, each with its distance: the outer one from its marginal, the inner one given it (or ``told``).

    Only every second, third, ... code of an outer column is looked at, so that no more than 64 are.
    """
    size = energy.domain.sizes[outer]
    stride = math.ceil(size / 64)
    if stride > 1 and float(uniforms[2]) < 0.5:
        stride += 1
    probabilities = pair_probabilities(energy, row, outer, inner, temperature, n_trees)
    probabilities[[k for k in range(size) if k % stride != row[outer] % stride]] = 0
    probabilities /= probabilities.sum()
    marginal = probabilities.sum(axis=1)
    first = draw(marginal, float(uniforms[0]))
    given = first[0] if told is None else int(told)
    return first, draw(probabilities[given] / marginal[given], float(uniforms[1]))


def keep_probabilities(values, refresh):
    """How likely a pool row of each leaf survives a round [eq:paccept], less the share that is refreshed."""
    return [math.exp(value - max(values)) * (1 - refresh) for value in values]


# --- growing a tree -------------------------------------------------------------------------------------------------


class PoolReference:
    """Q as a count of pool rows."""

    def __init__(self, pool):
        self.pool = pool

    def root(self):
        return np.arange(len(self.pool))

    def mass(self, part):
        return float(len(part))

    def per_code(self, part, column, size):
        return np.bincount(self.pool[part, column], minlength=size).astype(float)

    def split(self, part, column, left):
        to_left = np.array([int(code) in left for code in self.pool[part, column]], bool)
        return part[to_left], part[~to_left]


class ProductReference:
    """Q as a product of one distribution per column."""

    def __init__(self, probabilities):
        self.probabilities = probabilities

    def root(self):
        return [set(range(len(p))) for p in self.probabilities]

    def _inside(self, part, column):
        return math.fsum(self.probabilities[column][k] for k in part[column])

    def mass(self, part):
        return math.prod(self._inside(part, j) for j in range(len(part)))

    def per_code(self, part, column, size):
        others = math.prod(self._inside(part, j) for j in range(len(part)) if j != column)
        return np.array([self.probabilities[column][k] * others if k in part[column] else 0.0 for k in range(size)])

    def split(self, part, column, left):
        return (
            [*part[:column], part[column] & left, *part[column + 1 :]],
            [*part[:column], part[column] - left, *part[column + 1 :]],
        )


def order_of_codes(p, q, ordered):
    """The order in which a column's codes are cut: their own, or by P/Q [app:implementation-details]."""
    if ordered:
        return list(range(len(p)))

    def ratio(k):
        if q[k] > 0:
            return p[k] / q[k]
        return math.inf if p[k] > 0 else -1.0

    return sorted(range(len(p)), key=ratio)


def worth(p, q, by_likelihood):
    """What a leaf contributes to the objective: P²/Q [eq:split], or P log(P/Q) [eq:det-kl-split]."""
    if by_likelihood:
        return p * math.log(p / q) if p > 0 else 0.0
    return p * (p / q)


def best_split(p, q, ordered, scale, max_ratio=math.inf, min_samples_leaf=0, by_likelihood=False):
    """The best cut of one column: (gain, cut, order), or None where every cut is refused.

    A cut behind a code that no row has says the same as the cut before it, and is passed over.
    """
    order, best = order_of_codes(p, q, ordered), None
    p_all, q_all = p.sum(), q.sum()
    for cut in range(1, len(order)):
        last = order[cut - 1]
        if p[last] == 0 and q[last] == 0:
            continue
        p_low, q_low = p[order[:cut]].sum(), q[order[:cut]].sum()
        p_high, q_high = p[order[cut:]].sum(), q[order[cut:]].sum()
        if min(q_low, q_high) <= q_all * 1e-12 or min(p_low, p_high) < min_samples_leaf:
            continue
        if max(p_low / q_low, p_high / q_high) * scale > max_ratio:
            continue
        gain = worth(p_low, q_low, by_likelihood) + worth(p_high, q_high, by_likelihood)
        gain -= worth(p_all, q_all, by_likelihood)
        least = 1e-12 * (p_all if by_likelihood else p_all * p_all / q_all)
        if gain > least and (best is None or gain > best[0]):
            best = gain, cut, order
    return best


def left_levels(p, q, cut, order):
    """The levels that go left at a cut; one that no row has goes where most of the model is."""
    levels = set(order[:cut])
    to_left = 2 * q[order[:cut]].sum() > q.sum()
    for k in range(len(p)):
        if p[k] == 0 and q[k] == 0:
            levels = levels | {k} if to_left else levels - {k}
    return levels


def grow(
    codes,
    sizes,
    ordered,
    reference,
    *,
    max_leaves,
    max_ratio,
    min_samples_leaf,
    breadth_first=False,
    by_likelihood=False,
    allowed=None,
):
    """Grow a tree: the splits in order as (leaf, column, threshold, levels going left), and the leaves.

    Split n makes its leaf into itself, left, and leaf n + 1, right. A leaf is (rows, part of the reference).
    """
    scale = reference.mass(reference.root()) / len(codes)
    leaves, found, looked, splits = [(np.arange(len(codes)), reference.root())], {}, 0, []

    def look(leaf):
        nonlocal looked
        rows, part = leaves[leaf]
        best = None
        for j, size in enumerate(sizes):
            if allowed is not None and not allowed[looked][j]:
                continue
            p = np.bincount(codes[rows, j], minlength=size)
            q = reference.per_code(part, j, size)
            split = best_split(p, q, ordered[j], scale, max_ratio, min_samples_leaf, by_likelihood)
            if split is not None and (best is None or split[0] > best[0]):
                gain, cut, order = split
                best = (gain, j, cut, set(range(cut)) if ordered[j] else left_levels(p, q, cut, order))
        looked += 1
        if best is not None:
            found[leaf] = (looked if breadth_first else -best[0], leaf, *best[1:])

    look(0)
    while found and len(leaves) < max_leaves:
        leaf = min(found.values(), key=lambda f: f[:2])[1]
        _, _, column, cut, left = found.pop(leaf)
        rows, part = leaves[leaf]
        to_left = np.array([int(code) in left for code in codes[rows, column]], bool)
        part_left, part_right = reference.split(part, column, left)
        leaves[leaf] = rows[to_left], part_left
        leaves.append((rows[~to_left], part_right))
        splits.append((leaf, column, cut, left))
        look(leaf)
        look(len(leaves) - 1)
    return splits, leaves


# --- line search ----------------------------------------------------------------------------------------------------


def likelihood_gain(step, value, p, q):
    """Rise of the log-likelihood per row by a step along a tree [eq:app-line-search]."""
    up = sum(step * v * share for v, share in zip(value, p, strict=True))
    top = step * max(value)  # taken out of the sum, which could overflow
    return up - top - math.log(sum(share * math.exp(step * v - top) for v, share in zip(value, q, strict=True)))


def line_search(value, p, q):
    """The best of 101 steps, spread evenly in logarithm over [0.001, 10]."""
    steps = [10 ** (-3 + 4 * k / 100) for k in range(101)]
    return max(steps, key=lambda step: likelihood_gain(step, value, p, q))
