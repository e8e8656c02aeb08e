"""How alike two spaces are that the same words were put into: RSA, linear CKA, Procrustes, the plain cosine.

RSA correlates two matrices of cosines over all pairs of n words. Those matrices are never made: a cosine is a product
of features, so that every sum over pairs is a sum over products of features. With unit vectors u and v of the words,

    sum over i, j of (u_i . u_j) (v_i . v_j)  =  |U'V|^2      [Frobenius; U'V is features x features]

which is exact, and takes n d^2 steps in place of n^2 d. Sums over a group of words are taken apart from the rest, so
that leaving each group out costs nothing more. CKA, debiased or not, and the Procrustes distance are made of the same
products.

A space is [word, dimension]; words of a group stand together, from one of the `edges` to the next. Everything returns
draws [1 + groups, pair] (see `core.resampling`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity, normalize

Pair = tuple[int, int]


def rsa(spaces: Sequence[Tensor], pairs: Sequence[Pair], edges: np.ndarray) -> np.ndarray:
    """Pearson's correlation of the cosines between all two different words in one space and in the other."""
    kernels = [_Cosines(space, edges) for space in spaces]
    sizes = _sizes(edges)
    pairs_of_words = sizes * (sizes - 1)

    def covariance(one: int, other: int) -> np.ndarray:
        both = kernels[one].products(kernels[other]) / pairs_of_words
        return both - kernels[one].sums * kernels[other].sums / pairs_of_words**2

    return _normalised(covariance, pairs)


def cka(spaces: Sequence[Tensor], pairs: Sequence[Pair], edges: np.ndarray) -> np.ndarray:
    """Linear centred kernel alignment of the vectors as they are, debiased and then plain, [2, 1 + groups, pair].

    Plain it is |X'Y|^2 / (|X'X| |Y'Y|) with centred columns (Kornblith et al. 2019), which counts what each word has
    in common with itself: the fewer words, the higher. Debiased, each of the three is Song et al.'s (2012) unbiased
    estimate, of products of different words alone; unrelated spaces then have 0 on average, however few the words.
    """
    vectors = [_with_squares(space) for space in spaces]

    def alignments(one: int, other: int) -> np.ndarray:
        sums = _Sums(_left_out(_crossed(vectors[one], vectors[other], edges)))
        return np.stack([sums.unbiased(), sums.centred_square()])

    return _normalised(alignments, pairs)


def procrustes(spaces: Sequence[Tensor], pairs: Sequence[Pair], edges: np.ndarray) -> np.ndarray:
    """The squared distance that is left between two spaces, both centred and of length 1 as a whole, after the
    rotation that brings them closest: 2 - 2 |X'Y|, by the sum of singular values. Without a group the rotation is
    kept, which is right to first order, as the best one has no slope."""
    vectors = [_with_squares(space) for space in spaces]
    return np.stack(
        [_Sums(_left_out(_crossed(vectors[one], vectors[other], edges))).distance() for one, other in pairs], 1
    )


def _with_squares(space: Tensor) -> Tensor:
    """[word, dimension + 2]: the vectors, centred and in a unit in which their squares are 1 on average, their
    squares, and 1."""
    centred = space - space.mean(0)
    squares = centred.square().sum(1, keepdim=True)
    unit = squares.mean()
    return torch.cat([centred / unit.sqrt(), squares / unit, torch.ones_like(squares)], 1)


class _Sums:
    """The sums over words behind CKA and Procrustes: products of `_with_squares` of two spaces, x and y, in all and
    without each group, [1 + groups, dimension + 2, dimension + 2]."""

    def __init__(self, total: Tensor) -> None:
        self.products = total[:, :-2, :-2]
        self.x_by_yy, self.x = total[:, :-2, -2:].double().unbind(2)
        self.xx_by_y, self.y = total[:, -2:, :-2].double().unbind(1)
        self.xx_by_yy, self.xx, self.yy, self.n = total[:, -2:, -2:].double().flatten(1).unbind(1)
        self.xx_of_sum, self.yy_of_sum = self.x.square().sum(1), self.y.square().sum(1)
        self.squared = self.products.square().sum((1, 2), dtype=torch.float64)
        along = (total[:, None, :-2, -1] @ self.products)[:, 0]
        self.between = (along.double() * self.y).sum(1)

    def centred_square(self) -> np.ndarray:
        """|X'Y|^2 with centred columns: the means aren't 0 any more once a group is left out."""
        plain = self.squared - 2 * self.between / self.n + self.xx_of_sum * self.yy_of_sum / self.n**2
        return _numbers(plain)

    def unbiased(self) -> np.ndarray:
        """Song et al.'s estimate, by the kernels K and L without their diagonals and the number of words n, times
        n (n - 3): tr KL + 1'K1 1'L1 / ((n - 1) (n - 2)) - 2 / (n - 2) 1'KL1."""
        both = self.squared - self.xx_by_yy
        apart = (self.xx_of_sum - self.xx) * (self.yy_of_sum - self.yy) / ((self.n - 1) * (self.n - 2))
        along = self.between - (self.x * self.x_by_yy).sum(1) - (self.y * self.xx_by_y).sum(1) + self.xx_by_yy
        return _numbers(both + apart - 2 / (self.n - 2) * along)

    def distance(self) -> np.ndarray:
        means = (self.x[:, :, None] * self.y[:, None] / self.n[:, None, None]).to(self.products)
        centred = self.products - means
        left, _, right = torch.linalg.svd(centred[0].nan_to_num(), full_matrices=False)  # NaN: nothing to compare
        together = (centred * (left @ right)).sum((1, 2), dtype=torch.float64)
        lengths = (self.xx - self.xx_of_sum / self.n) * (self.yy - self.yy_of_sum / self.n)
        return _numbers((2 - 2 * together / lengths.sqrt()).clamp_min(0))  # rounding


def plain_cosine(spaces: Sequence[Tensor], pairs: Sequence[Pair], edges: np.ndarray) -> np.ndarray:
    """The mean cosine of a word's vector in one space with its vector in the other: no RSA, though it passes for one.
    Turn one of two equal spaces and it falls."""
    words = torch.stack([cosine_similarity(spaces[one], spaces[other]) for one, other in pairs], 1)
    with np.errstate(invalid="ignore"):  # a single group, left out
        return _numbers(_left_out(_grouped(words, edges))) / _sizes(edges)[:, None]


class _Cosines:
    """The matrix of cosines between words, by features: what is common to all pairs is taken off.

    With a the mean of the unit vectors and v = u - a, the cosine is |a|^2 + a.v_i + a.v_j + v_i.v_j. Without its
    first term, which no correlation sees, it is the product of the features (v, a.v, 1) of the two words, the last
    two of one of them exchanged. Taken off in double precision, so that little is lost to rounding where all cosines
    are nearly 1: single precision knows a unit vector's length no better than such cosines differ.

    itself   what a word's cosine with itself is, the common term taken off
    sums     over all ordered pairs of different words [1 + groups]
    """

    def __init__(self, space: Tensor, edges: np.ndarray) -> None:
        units = normalize(space.double(), dim=1)
        mean = units.mean(0)
        rest = units - mean
        along = rest @ mean
        self.edges = edges
        self.features = torch.cat([rest, torch.stack([along, torch.ones_like(along)], 1)], 1).to(space)
        self.itself = 1 - float(mean.square().sum())
        total = _left_out(_grouped(self.features, edges))
        products = total[:, :-2].square().sum(1) + 2 * total[:, -2] * total[:, -1]
        self.sums = _numbers(products) - _sizes(edges) * self.itself

    def products(self, other: _Cosines) -> np.ndarray:
        """The sum, over all ordered pairs of different words, of what the pair has here times what it has there."""
        total = _left_out(_crossed(self.features, other.features, self.edges))
        right, below, corner = total[:, :-2, -2:], total[:, -2:, :-2], total[:, -2:, -2:]
        exchanged = (right[..., 0] * right[..., 1]).sum(1) + (below[:, 0] * below[:, 1]).sum(1)
        exchanged += corner[:, 0, 0] * corner[:, 1, 1] + corner[:, 0, 1] * corner[:, 1, 0]
        product = total[:, :-2, :-2].square().sum((1, 2)) + 2 * exchanged
        return _numbers(product) - _sizes(self.edges) * self.itself * other.itself


def _normalised(product: Callable[[int, int], np.ndarray], pairs: Sequence[Pair]) -> np.ndarray:
    """Each pair's product [..., 1 + groups] by the root of their products with themselves, [..., 1 + groups, pair];
    NaN where there is nothing to compare."""
    with np.errstate(invalid="ignore", divide="ignore"):
        own = {one: product(one, one) for one in {one for pair in pairs for one in pair}}
        products = {(one, one): values for one, values in own.items()}
        for one, other in pairs:
            if (one, other) not in products:
                products[one, other] = products[other, one] = product(one, other)
        return np.stack([products[one, other] / np.sqrt(own[one] * own[other]) for one, other in pairs], -1)


def _crossed(one: Tensor, other: Tensor, edges: np.ndarray) -> Tensor:
    """[group, feature, feature]: the products of features, summed over each group's words."""
    return torch.stack([one[begin:end].T @ other[begin:end] for begin, end in pairwise(edges.tolist())])


def _grouped(values: Tensor, edges: np.ndarray) -> Tensor:
    """[group, ...]: sums over each group's words."""
    return torch.stack([values[begin:end].sum(0) for begin, end in pairwise(edges.tolist())])


def _left_out(sums: Tensor) -> Tensor:
    """`core.resampling.left_out`, where the sums are."""
    whole = sums.sum(0)
    return torch.cat([whole[None], whole - sums])


def _numbers(values: Tensor) -> np.ndarray:
    return values.double().cpu().numpy()


def _sizes(edges: np.ndarray) -> np.ndarray:
    """How many words there are in all, and without each group."""
    counts = np.diff(edges).astype(np.float64)
    return np.concatenate([[counts.sum()], counts.sum() - counts])
