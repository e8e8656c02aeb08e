"""A layer's vectors as `geometry` takes them, in parts, as they are or mended, and what is measured of their words.

Means over pairs are exact, by sums of unit vectors:

    mean cosine of n words  =  (|sum of u|^2 - n) / (n (n - 1))

Everything measured is returned as draws [1 + groups, ...] (see `core.resampling`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from bertscope.analyses.geometry.words import Words
from bertscope.core.resampling import left_out
from bertscope.models.evaluating import best_device
from bertscope.models.sending import sent

AS_IT_IS, TOP_REMOVED, STANDARDISED = "as_it_is", "top_removed", "standardised"
_CELLS = 2**22  # numbers of a stack of occurrence matrices


class LayerVectors:
    """One layer's vectors, brought to where they are measured in parts."""

    def __init__(self, vectors: np.ndarray) -> None:
        self._vectors = vectors
        self._device = best_device()

    def __getitem__(self, rows: slice | np.ndarray) -> Tensor:
        part = self._vectors[rows]
        return sent(part if part.flags.writeable else part.copy(), self._device)


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
    halves: tuple[np.ndarray, ...]
    """The same of every other group of texts and of the rest, along their own directions; none of a single group."""
    smaller: float
    """How many times smaller a half is."""

    def forms(self, top: int) -> dict[str, Form]:
        scale = torch.where(self.deviation > 0, 1 / self.deviation, 1.0)
        return {
            AS_IT_IS: Form(),
            TOP_REMOVED: Form(self.mean, removed=self.directions[:, :top]),
            STANDARDISED: Form(self.mean, scale=scale),
        }

    def of_sample(self, measure: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """A measure of the spectrum [1 + groups]: that of few words is less even than that of many."""
        return measure(self.spectrum)

    def extrapolated(self, measure: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """The measure as it would be of endless texts: what is lacking falls as 1 / n, so that the whole lacks as
        much as it has more than its halves, where they are equal."""
        whole = self.of_sample(measure)
        if not self.halves:
            return whole
        half = np.mean([measure(spectrum) for spectrum in self.halves], 0)
        return whole + (whole - half) / (self.smaller - 1)


def effective_rank(spectrum: np.ndarray) -> np.ndarray:
    """The exponential of the entropy of the covariance's eigenvalues, as shares of their sum."""
    shares = spectrum.clip(0) / spectrum.clip(0).sum(-1, keepdims=True)
    return np.exp(-(shares * np.log(shares, out=np.zeros_like(shares), where=shares > 0)).sum(-1))


def isoscore(spectrum: np.ndarray) -> np.ndarray:
    """Rudman et al.'s (2022): the variances along the principal directions, brought to the length of (1, ..., 1), are
    |them - 1| / sqrt(2 (n - sqrt n)) = d away from it; of n dimensions the share phi = (n - d^2 (n - sqrt n))^2 / n^2
    is used, and the score is (n phi - 1) / (n - 1): 1 where all directions vary alike, 0 where one does."""
    variances, n = spectrum.clip(0), spectrum.shape[-1]
    scaled = np.sqrt(n) * variances / np.linalg.norm(variances, axis=-1, keepdims=True)
    defect = np.linalg.norm(scaled - 1, axis=-1) / np.sqrt(2 * (n - np.sqrt(n)))
    used = (n - defect**2 * (n - np.sqrt(n))) ** 2 / n**2
    return (n * used - 1) / (n - 1)


def moments(vectors: LayerVectors, words: Words) -> Moments:
    n, groups = len(words.group), len(words.edges) - 1
    mean = torch.stack([vectors[begin:end].sum(0).double() for begin, end in words.blocks()]).sum(0) / n
    centre, dim = mean.float(), len(mean)
    sums, products = mean.new_zeros(groups, dim), mean.new_zeros(groups, dim, dim)
    for begin, end in words.blocks():
        centred, group = vectors[begin:end] - centre, words.group[begin]
        sums[group] += centred.sum(0).double()
        products[group] += (centred.T @ centred).double()
    sizes = np.diff(words.edges).astype(np.float64)
    every = np.arange(groups)
    directions, spectrum = _spectrum(sums, products, sizes, every)
    parts = [every[start::2] for start in (0, 1)] if groups > 1 else []
    halves = tuple(_spectrum(sums, products, sizes, part)[1] for part in parts)
    smaller = float(np.mean([n / sizes[part].sum() for part in parts])) if parts else 1.0
    deviation = (products.sum(0) / n).diagonal().sqrt()
    return Moments(centre, deviation.float(), directions.float(), spectrum, halves, smaller)


def _spectrum(sums: Tensor, products: Tensor, sizes: np.ndarray, part: np.ndarray) -> tuple[Tensor, np.ndarray]:
    """The principal directions of some groups' words, and the variance along them: of all these groups, and without
    each [1 + groups], which changes nothing where it isn't one of them."""
    mine, n = sent(part, sums.device), sizes[part].sum()
    products, sums = products[mine], sums[mine]
    mean = sums.sum(0) / n
    _, directions = torch.linalg.eigh(products.sum(0) / n - mean[:, None] * mean)
    directions = directions.flip(1)
    squares = left_out(((products @ directions) * directions).sum(1).cpu().numpy())
    along = left_out((sums @ directions).cpu().numpy())
    left = left_out(sizes[part])[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):  # a half of one group, left out
        variances = squares / left - (along / left) ** 2
    draws = np.repeat(variances[:1], 1 + len(sizes), axis=0)
    draws[1 + part] = variances[1:]
    return directions, draws


def sizes_left(words: Words) -> np.ndarray:
    """How many words there are in all, and without each group."""
    return left_out(np.diff(words.edges).astype(np.float64))


def by_text(vectors: LayerVectors, words: Words, forms: dict[str, Form]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The mean cosine of two words of the corpus, and of a word with the mean of its text; in each form.

    The latter is averaged over a text's words, then over the texts of more than one word.
    """
    groups = len(words.edges) - 1
    first = vectors[:1]  # sums stay where the vectors are until all are added
    units = {name: first.new_zeros(groups, first.shape[1], dtype=torch.float64) for name in forms}
    texts = {name: first.new_zeros(groups, 2, dtype=torch.float64) for name in forms}
    for begin, end in words.blocks():
        block, group = vectors[begin:end], words.group[begin]
        places = words.text[begin:end] - words.text[begin]
        text, lengths = sent(places, block.device), sent(np.bincount(places), block.device)
        several = lengths > 1
        for name, form in forms.items():
            formed = form(block)
            unit = normalize(formed, dim=1)
            means = normalize(_summed(formed, text, len(lengths)), dim=1)
            inside = _summed((unit * means[text]).sum(1), text, len(lengths)) / lengths
            units[name][group] += unit.sum(0).double()
            inside = torch.where(several, inside, 0).sum(dtype=torch.float64)
            texts[name][group] += torch.stack([inside, several.sum().double()])
    squares = {name: np.square(left_out(sums.cpu().numpy())).sum(1) for name, sums in units.items()}
    of_texts = {name: _ratio(left_out(sums.cpu().numpy())) for name, sums in texts.items()}
    sizes = sizes_left(words)
    return {name: (_mean_cosine(squares[name], sizes), of_texts[name]) for name in forms}


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
        place, owner = sent(cell, block.device), sent(type_of - first, block.device)
        each = []
        for form in forms.values():
            parts = _summed(normalize(form(block), dim=1), place, len(cells))
            whole = _summed(parts, owner, last - first)
            each.append(torch.cat([whole.square().sum(1), (parts * whole[owner]).sum(1), parts.square().sum(1)]))
        for name, numbers in zip(forms, torch.stack(each).cpu().numpy(), strict=True):  # one wait for all forms
            squares, with_whole, own = found[name]
            of_types, of_cells, own_cells = np.split(numbers, np.cumsum([last - first, len(cells)]))
            squares[first:last] = of_types
            with_whole[group_of, type_of], own[group_of, type_of] = of_cells, own_cells
    sizes = left_out(words.by_group)
    return {
        name: _mean_cosine(np.concatenate([squares[None], squares - 2 * with_whole + own]), sizes)
        for name, (squares, with_whole, own) in found.items()
    }


def explained(vectors: LayerVectors, words: Words, forms: dict[str, Form], sets: np.ndarray) -> dict[str, np.ndarray]:
    """MEV: the share of a set of vectors that lies along its first direction, s1^2 / sum of s^2, s being the singular
    values of the matrix as it is, not centred [1 + groups, set]. It depends on how many vectors there are: without a
    group of texts, only the sets that lose none count, and the others are NaN."""
    groups, dim = len(words.edges) - 1, vectors[:1].shape[1]
    shares = [np.zeros((len(forms), 0))]
    size = max(1, _CELLS // (sets.shape[1] * dim))
    for start in range(0, len(sets), size):
        occurrences = vectors[sets[start : start + size]]
        products = torch.stack([formed @ formed.mT for formed in (form(occurrences) for form in forms.values())])
        squares = torch.linalg.eigvalsh(products.double())  # [form, set, direction]: a GPU is waited for once
        shares.append(_ratio(torch.stack([squares[..., -1], squares.sum(-1)], -1).cpu().numpy()))
    whole = (words.group[sets][None] != np.arange(groups)[:, None, None]).all(2)
    kept = np.concatenate([np.ones((1, len(sets)), bool), whole])
    of_forms = np.concatenate(shares, 1)
    return {name: np.where(kept, of_form, np.nan) for name, of_form in zip(forms, of_forms, strict=True)}


def _mean_cosine(squares: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Of two different vectors out of so many, from the squared length of the sum of their unit vectors."""
    return _ratio(np.stack([squares - sizes, sizes * (sizes - 1)], -1))


def _summed(values: Tensor, place: Tensor, count: int) -> Tensor:
    """Sums of the values that belong to each place."""
    return values.new_zeros(count, *values.shape[1:]).index_add_(0, place, values)


def _ratio(parts: np.ndarray) -> np.ndarray:
    """The first of two numbers by the second; NaN where that is 0."""
    return np.divide(parts[..., 0], parts[..., 1], out=np.full(parts.shape[:-1], np.nan), where=parts[..., 1] > 0)
