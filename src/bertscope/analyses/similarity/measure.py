"""`similarity`: the same words in two spaces, a space being one layer of one checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
import torch

from bertscope.analyses.occurrences import Windows, common_words, owners
from bertscope.analyses.similarity.question import SimilarityConfig
from bertscope.analyses.similarity.result import (
    CKA,
    DEBIASED,
    PLAIN,
    PROCRUSTES,
    RSA,
    Compared,
    Sides,
    Space,
    similarity_result,
)
from bertscope.analyses.similarity.rsa_cka import cka, plain_cosine, procrustes, rsa
from bertscope.analyses.state_inputs import Given, open_in_turn, open_states
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.model_record import by_key
from bertscope.core.resampling import group_bounds
from bertscope.core.result import Result
from bertscope.models.encoder import Encoder
from bertscope.models.evaluating import best_device, full_precision
from bertscope.models.sending import sent
from bertscope.models.states_store import StatesStore, joined

_FEWEST = 50  # words: fewer say nothing
_HALVINGS = 4  # of the sample, to see how the value settles


def measure(
    states: Sequence[Given],
    examples: Examples,
    config: SimilarityConfig,
    *,
    against: Examples | None = None,
    against_states: Sequence[Given] | None = None,
) -> Result:
    if against is not None and against_states is None:
        states = against_states = _encoders(states)  # the same encoders read both
    stores = [open_states(states, examples)]
    texts = [examples]
    if against is not None and against_states is not None:
        if against.ids == examples.ids and against.text == examples.text:
            raise UserError("the second corpus is the first one; give other texts to compare with")
        stores.append(open_states(against_states, against))
        texts.append(against)
        _refuse_other(*stores)
    corpora = [Corpus(*named, config.seed) for named in zip(_corpus_names(texts), stores, texts, strict=True)]
    return _measured(corpora, config)


def of_shards(
    shards: Sequence[Sequence[StatesStore]], about: Examples, windows: Windows, config: SimilarityConfig
) -> Result:
    """The same of states that lie in shards: the same words are sampled, whichever files they are in."""
    stores = by_key([joined(each) for each in shards])
    (name,) = _corpus_names([about])
    return _measured([Corpus(name, stores, about, config.seed, windows)], config)


def _measured(corpora: list[Corpus], config: SimilarityConfig) -> Result:
    _refuse_few(corpora)
    first = corpora[0]
    with full_precision():
        sides = by_layer(first.stores, config.pairs)
        layers = [_compared(corpus, sides, config.words, config.groups, plain=True) for corpus in corpora]
        chosen, sizes = three_layers(sides), _sizes(first.size(config.words))
        settling = [_compared(first, chosen, n, config.groups) for n in sizes]
        every_two = every_two_layers(first.stores, config.pairs)
        grid = _compared(first, every_two, config.words, config.groups, distance=False) if config.grid else None
    return similarity_result(corpora, layers, settling, grid, config)


def _corpus_names(texts: Sequence[Examples]) -> list[str]:
    """What tables call the corpora: as their data are called, the second with a number where that is the same."""
    first, *others = (one.name or "these texts" for one in texts)
    return [first, *(f"{name} (2)" if name == first else name for name in others)]


def _encoders(states: Sequence[Given]) -> list[Encoder]:
    """Encoders to read two corpora with."""
    encoders = []
    for given in open_in_turn(states):
        if isinstance(given, StatesStore):
            raise UserError(
                "hidden states of one corpus say nothing of another; give against_states, or the encoders"
            )
        encoders.append(given)
    return encoders


@dataclass(frozen=True)
class Corpus:
    """Some texts, and what every checkpoint makes of them."""

    name: str
    stores: dict[str, StatesStore]
    """By checkpoint."""
    examples: Examples
    """The texts, or nothing but their name and notes."""
    seed: int
    windows: Windows | None = None
    """The texts, where they aren't held."""

    @cached_property
    def words(self) -> np.ndarray:
        """[checkpoint, word]: the rows of the words that all have, in a random order."""
        return common_words(self.stores, self.windows or self.examples, self.seed)

    def size(self, most: int) -> int:
        """How many words are compared: so many, or all there are."""
        return min(most, self.words.shape[1])


def by_layer(stores: dict[str, StatesStore], which: str) -> list[Sides]:
    """Layer k of one checkpoint beside layer k of another; of a single checkpoint each layer beside the one below."""
    if len(stores) == 1:
        name, store = next(iter(stores.items()))
        return [Sides(Space(name, layer), Space(name, below)) for below, layer in pairwise(store.layers)]
    return [
        Sides(Space(one, layer), Space(other, layer))
        for one, other in _pairs(stores, which)
        for layer in stores[one].layers
        if layer in stores[other].layers
    ]


def every_two_layers(stores: dict[str, StatesStore], which: str) -> list[Sides]:
    """Within each checkpoint, and between those that are compared."""
    within = [(name, name) for name in stores]
    return [
        Sides(Space(one, layer), Space(other, beside))
        for one, other in [*within, *_pairs(stores, which)]
        for layer in stores[one].layers
        for beside in stores[other].layers
    ]


def three_layers(sides: Sequence[Sides]) -> list[Sides]:
    """The lowest, the middle and the highest block of each pair."""
    chosen = []
    for pair in dict.fromkeys(each.pair for each in sides):
        blocks = [each for each in sides if each.pair == pair and each.one.layer > 0]
        chosen += [blocks[at] for at in sorted({0, (len(blocks) - 1) // 2, len(blocks) - 1})]
    return chosen


def _pairs(stores: dict[str, StatesStore], which: str) -> list[tuple[str, str]]:
    return [pair for pair in combinations(stores, 2) if which == "all" or pair[0] == next(iter(stores))]


class Sample:
    """The same n words in every space of a corpus."""

    def __init__(self, corpus: Corpus, n: int, groups: int) -> None:
        rows = corpus.words[:, :n]
        rows = rows[:, np.argsort(rows[0])]  # a text's words together again
        self._stores, self._rows = corpus.stores, dict(zip(corpus.stores, rows, strict=True))
        first = next(iter(corpus.stores.values()))
        self._edges = group_bounds(owners(first)[rows[0]], groups)

    def compare(
        self, sides: Sequence[Sides], *, plain: bool = False, distance: bool = False
    ) -> dict[str, np.ndarray]:
        """The draws [1 + groups, comparison] of RSA and both CKAs; with `distance` also of Procrustes', and with
        `plain` of the plain cosine, which is NaN between spaces of different width."""
        spaces = sorted({space for each in sides for space in (each.one, each.other)})
        place = {space: at for at, space in enumerate(spaces)}
        vectors = [self._vectors(space) for space in spaces]
        pairs = [(place[each.one], place[each.other]) for each in sides]
        debiased, of_sample = cka(vectors, pairs, self._edges)
        found = {RSA: rsa(vectors, pairs, self._edges), DEBIASED: debiased, CKA: of_sample}
        if distance:
            found[PROCRUSTES] = procrustes(vectors, pairs, self._edges)
        alike = [at for at, (one, other) in enumerate(pairs) if vectors[one].shape == vectors[other].shape]
        if plain and alike:
            found[PLAIN] = np.full_like(found[RSA], np.nan)
            found[PLAIN][:, alike] = plain_cosine(vectors, [pairs[at] for at in alike], self._edges)
        return found

    def _vectors(self, space: Space) -> torch.Tensor:
        rows = self._rows[space.checkpoint]
        return sent(self._stores[space.checkpoint].vectors(space.layer)[rows], best_device())


def _compared(
    corpus: Corpus, sides: list[Sides], words: int, groups: int, *, plain: bool = False, distance: bool = True
) -> Compared:
    found = Sample(corpus, words, groups).compare(sides, plain=plain, distance=distance)
    return Compared(sides, found, corpus.size(words))


def _sizes(whole: int) -> list[int]:
    """How many words are in the parts of the sample, each of which holds the one before."""
    return [n for n in sorted(whole >> halvings for halvings in range(_HALVINGS + 1)) if n >= _FEWEST]


def _refuse_other(here: dict[str, StatesStore], there: dict[str, StatesStore]) -> None:
    if list(here) != list(there):
        names = [", ".join(store.record.name for store in stores.values()) for stores in (here, there)]
        raise UserError(
            f"the states of the first corpus are those of {names[0]}, of the second those of {names[1]}; give the "
            "same models' in the same order"
        )


def _refuse_few(corpora: list[Corpus]) -> None:
    for corpus in corpora:
        if (found := corpus.words.shape[1]) < _FEWEST:
            raise UserError(
                f"only {found} words of {corpus.name} are words for all checkpoints, and {_FEWEST} are needed; give "
                "more texts, or checkpoints of one tokenizer"
            )
        stores = corpus.stores.values()
        if len(corpus.stores) == 1 and len(next(iter(stores)).layers) < 2:
            raise UserError("one layer of one checkpoint has nothing to be compared with; keep two layers or more")
        if not any(layer > 0 for layer in set.intersection(*(set(store.layers) for store in stores))):
            names = " and ".join(store.record.name for store in stores)
            raise UserError(f"{names} have no layer in common; keep the same layers of all")
