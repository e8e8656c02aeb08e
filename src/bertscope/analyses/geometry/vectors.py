"""A layer's vectors as `geometry` takes them, in parts, as they are or mended, and what is measured of their words.

Means over pairs are exact, by sums of unit vectors:

    mean cosine of n words  =  (|sum of u|^2 - n) / (n (n - 1))

Everything measured is returned as draws [1 + groups, ...] (see `core.resampling`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from bertscope.analyses.geometry.words import Sets, Words
from bertscope.core.resampling import left_out
from bertscope.models.evaluating import best_device

AS_IT_IS, TOP_REMOVED, STANDARDISED = "as_it_is", "top_removed", "standardised"
_CELLS = 2**22  # numbers of a stack of occurrence matrices
_SQUARINGS, _STEPS, _NUDGE = 16, 8, 0.01  # of the power method


class LayerVectors:
    """One layer's vectors, brought to where they are measured in parts."""

    def __init__(self, vectors: np.ndarray) -> None:
        self._vectors = vectors
        self._device = best_device()

    def __getitem__(self, rows: slice | np.ndarray) -> Tensor:
        part = self._vectors[rows]
        return torch.from_numpy(part if part.flags.writeable else part.copy()).to(self._device)


@dataclass(frozen=True)
class Form:
    """What is done to vectors before they are measured."""

    mean: Tensor | None = None
    """Taken off."""
    removed: Tensor | None = None
    """[dimension, direction]: taken off too."""
    scale: Tensor | None = None

    def __call__(self, vectors: Tensor) -> Tensor:
        if self.mean is not None:
            vectors = vectors - self.mean
        if self.removed is not None:
            vectors = vectors - (vectors @ self.removed) @ self.removed.T
        return vectors if self.scale is None else vectors * self.scale


@dataclass(frozen=True)
class Moments:
    """The mean of a layer's vectors, and the spectrum of their covariance."""

    mean: Tensor
    deviation: Tensor
    directions: Tensor
    """[dimension, direction]: the covariance's eigenvectors, that of the largest eigenvalue first."""
    spectrum: np.ndarray
    """[1 + groups, direction]: the variance along them. Leaving a group out, the directions are kept: right to first
    order, as an eigenvalue doesn't feel a small turn of its direction."""

    def forms(self, top: int) -> dict[str, Form]:
        scale = torch.where(self.deviation > 0, 1 / self.deviation, 1.0)
        return {
            AS_IT_IS: Form(),
            TOP_REMOVED: Form(self.mean, removed=self.directions[:, :top]),
            STANDARDISED: Form(self.mean, scale=scale),
        }

    def effective_rank(self) -> np.ndarray:
        """The exponential of the entropy of the covariance's eigenvalues, as shares of their sum."""
        shares = self.spectrum.clip(0) / self.spectrum.clip(0).sum(1, keepdims=True)
        return np.exp(-(shares * np.log(shares, out=np.zeros_like(shares), where=shares > 0)).sum(1))


def moments(vectors: LayerVectors, words: Words) -> Moments:
    n, groups = len(words.group), len(words.edges) - 1
    mean = torch.stack([vectors[begin:end].sum(0).double() for begin, end in words.blocks()]).sum(0) / n
    centre, dim = mean.float(), len(mean)
    sums, products = mean.new_zeros(groups, dim), mean.new_zeros(groups, dim, dim)
    for begin, end in words.blocks():
        centred, group = vectors[begin:end] - centre, words.group[begin]
        sums[group] += centred.sum(0).double()
        products[group] += (centred.T @ centred).double()
    _, directions = torch.linalg.eigh(products.sum(0) / n)
    directions = directions.flip(1)
    squares = left_out(((products @ directions) * directions).sum(1).cpu().numpy())
    along = left_out((sums @ directions).cpu().numpy())
    sizes = sizes_left(words)[:, None]
    deviation = (products.sum(0) / n).diagonal().sqrt()
    return Moments(centre, deviation.float(), directions.float(), squares / sizes - (along / sizes) ** 2)


def sizes_left(words: Words) -> np.ndarray:
    """How many words there are in all, and without each group."""
    return left_out(np.diff(words.edges).astype(np.float64))


def by_text(vectors: LayerVectors, words: Words, forms: dict[str, Form]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The mean cosine of two words of the corpus, and of a word with the mean of its text; in each form.

    The latter is averaged over a text's words, then over the texts of more than one word.
    """
    groups = len(words.edges) - 1
    units = {name: np.zeros((groups, vectors[:1].shape[1])) for name in forms}
    texts = {name: np.zeros((groups, 2)) for name in forms}
    for begin, end in words.blocks():
        block, group = vectors[begin:end], words.group[begin]
        text = torch.from_numpy(words.text[begin:end] - words.text[begin]).to(block.device)
        lengths = torch.bincount(text)
        for name, form in forms.items():
            formed = form(block)
            unit = normalize(formed, dim=1)
            means = normalize(_summed(formed, text, len(lengths)), dim=1)
            inside = _summed((unit * means[text]).sum(1), text, len(lengths)) / lengths
            units[name][group] += unit.sum(0).double().cpu().numpy()
            texts[name][group] += [float(inside[lengths > 1].sum(dtype=torch.float64)), int((lengths > 1).sum())]
    squares = {name: np.square(left_out(sums)).sum(1) for name, sums in units.items()}
    sizes = sizes_left(words)
    return {name: (_mean_cosine(squares[name], sizes), _ratio(left_out(texts[name]))) for name in forms}


def self_similarity(vectors: LayerVectors, words: Words, forms: dict[str, Form]) -> dict[str, np.ndarray]:
    """The mean cosine of two occurrences of a type [1 + groups, type]; NaN where fewer than two are left."""
    groups, types = len(words.edges) - 1, len(words.types)
    found = {name: (np.zeros(types), *np.zeros((2, groups, types))) for name in forms}
    number = np.repeat(np.arange(types), words.counts)
    ends = np.concatenate([[0], np.cumsum(words.counts)])
    for first, last in words.chunks():
        within = slice(ends[first], ends[last])
        rows = words.order[within]
        cells, cell = np.unique(number[within] * groups + words.group[rows], return_inverse=True)
        type_of, group_of = np.divmod(cells, groups)
        block = vectors[rows]
        place = torch.from_numpy(cell).to(block.device)
        owner = torch.from_numpy(type_of - first).to(block.device)
        for name, form in forms.items():
            parts = _summed(normalize(form(block), dim=1), place, len(cells))
            whole = _summed(parts, owner, last - first)
            squares, with_whole, own = found[name]
            squares[first:last] = whole.square().sum(1).cpu().numpy()
            with_whole[group_of, type_of] = (parts * whole[owner]).sum(1).cpu().numpy()
            own[group_of, type_of] = parts.square().sum(1).cpu().numpy()
    sizes = left_out(words.by_group)
    return {
        name: _mean_cosine(np.concatenate([squares[None], squares - 2 * with_whole + own]), sizes)
        for name, (squares, with_whole, own) in found.items()
    }


def explained(
    vectors: LayerVectors, words: Words, forms: dict[str, Form], sets: tuple[Sets, ...]
) -> dict[str, np.ndarray]:
    """MEV: the share of a set of vectors that lies along its first direction, s1^2 / sum of s^2, s being the singular
    values of the matrix as it is, not centred [1 + groups, set]."""
    groups, dim = len(words.edges) - 1, vectors[:1].shape[1]
    draws: dict[str, list[np.ndarray]] = {name: [np.zeros((1 + groups, 0))] for name in forms}
    for rows in (one.rows for one in sets):
        size = max(1, _CELLS // (rows.shape[1] * dim))
        for start in range(0, len(rows), size):
            some = rows[start : start + size]
            occurrences = vectors[some]
            for name, form in forms.items():
                draws[name].append(_explained(form(occurrences), words.group[some], groups))
    return {name: np.concatenate(parts, 1) for name, parts in draws.items()}


def _explained(occurrences: Tensor, group: np.ndarray, groups: int) -> np.ndarray:
    """Of matrices [set, occurrence, dimension], by the Gram matrices of their rows.

    Leaving a group out, a few steps of the power method lead from the first direction to that of what is left.
    """
    gram = occurrences @ occurrences.mT
    whole = _first_direction(gram)[:, None]  # [set, 1, occurrence]
    left = torch.from_numpy(group[:, None] != np.arange(groups)[:, None]).to(gram)  # [set, group, occurrence]
    along = (whole + _NUDGE) * left  # a direction that lay in one group alone would leave nothing
    for _ in range(_STEPS):
        along = normalize((along @ gram) * left, dim=-1)
    along = torch.cat([whole, along], 1)
    own = gram.diagonal(dim1=1, dim2=2)[:, None]
    first, total = (along * (along @ gram)).sum(-1), torch.cat([own.sum(-1), (own * left).sum(-1)], 1)
    return _ratio(torch.stack([first, total], -1).double().cpu().numpy()).T


def _first_direction(gram: Tensor) -> Tensor:
    """Each matrix's eigenvector of the largest eigenvalue, by squaring it again and again: 65,536 steps of the power
    method in 16 products, which no eigenvalues short of equal outlast. Faster than LAPACK on many small matrices."""
    power = gram
    for _ in range(_SQUARINGS):
        power = power / power.diagonal(dim1=1, dim2=2).sum(1)[:, None, None]
        power = power @ power
    longest = power.diagonal(dim1=1, dim2=2).argmax(1)
    return normalize(power[torch.arange(len(power), device=power.device), longest], dim=1)


def _mean_cosine(squares: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Of two different vectors out of so many, from the squared length of the sum of their unit vectors."""
    return _ratio(np.stack([squares - sizes, sizes * (sizes - 1)], -1))


def _summed(values: Tensor, place: Tensor, count: int) -> Tensor:
    """Sums of the values that belong to each place."""
    return values.new_zeros(count, *values.shape[1:]).index_add_(0, place, values)


def _ratio(parts: np.ndarray) -> np.ndarray:
    """The first of two numbers by the second; NaN where that is 0."""
    return np.divide(parts[..., 0], parts[..., 1], out=np.full(parts.shape[:-1], np.nan), where=parts[..., 1] > 0)
