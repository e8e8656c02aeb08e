"""Which sentences train the probes of `structure`, which decide and which are scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from bertscope.analyses.structure.probes import Corpus, Vectors
from bertscope.analyses.structure.trees import Trees, parts
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.models.evaluating import best_device
from bertscope.models.states_store import StatesStore

Stores = Mapping[str, StatesStore]
_LEAST = 10
"""Fewer sentences to train on teach nothing."""


@dataclass(frozen=True)
class Material:
    train_on: Corpus
    train: np.ndarray
    validation: np.ndarray
    test_on: Corpus
    test: np.ndarray
    texts: Examples
    """Those of `test_on`."""
    notes: list[str]


def gather(
    scored: Stores, texts: Examples, fitted: Stores | None, train_texts: Examples | None, seed: int
) -> Material:
    """One corpus split in three; or `train_texts` split in two, and `texts` to be scored whole."""
    device = best_device()
    test_on, test, notes = _corpus(scored, texts, device)
    if fitted is None or train_texts is None:
        train_on = test_on
        train, validation, test = (np.intersect1d(test, part) for part in parts(texts.text, seed, test=True))
    else:
        _refuse_other(scored, texts, fitted, train_texts)
        train_on, usable, more = _corpus(fitted, train_texts, device)
        train, validation = (np.intersect1d(usable, part) for part in parts(train_texts.text, seed, test=False))
        notes += more + _repeated(texts, test, train_texts, train)
    if len(train) < _LEAST or not len(validation) or not len(test):
        raise UserError(
            f"{len(train)} sentences to train on, {len(validation)} for validation and {len(test)} to score are too "
            "few; give more sentences, or other data to train on (train)"
        )
    notes.append(f"{len(train):,} sentences to train on, {len(validation):,} for validation, {len(test):,} to test")
    return Material(train_on, train, validation, test_on, test, texts, notes)


def _corpus(stores: Stores, texts: Examples, device: torch.device) -> tuple[Corpus, np.ndarray, list[str]]:
    """The corpus, its sentences of whose every word every checkpoint has a vector, and a note on the others."""
    trees = Trees.of(texts)
    usable = np.all([np.diff(store.starts) == trees.lengths for store in stores.values()], axis=0)
    lost = int((~usable).sum())
    notes = [f"{lost:,} sentences of {texts.name or 'the texts'} are left out: too long, or a word without tokens"]
    corpus = Corpus(trees, {name: Vectors(store, device) for name, store in stores.items()}, device)
    return corpus, np.flatnonzero(usable), notes if lost else []


def _refuse_other(scored: Stores, texts: Examples, fitted: Stores, train_texts: Examples) -> None:
    if texts.ids == train_texts.ids and texts.text == train_texts.text:
        raise UserError("the data to train on (train) are the data to be scored; leave train out and they are split")
    shapes = [{name: (store.layers, store.dim) for name, store in stores.items()} for stores in (scored, fitted)]
    if list(shapes[0].items()) != list(shapes[1].items()):
        raise UserError(
            f"the states to be scored are those of {', '.join(scored)}, the states to train on those of "
            f"{', '.join(fitted)}; give the same models' in the same order"
        )


def _repeated(texts: Examples, test: np.ndarray, train_texts: Examples, train: np.ndarray) -> list[str]:
    seen = {train_texts.text[row] for row in train}
    both = sum(texts.text[row] in seen for row in test)
    return [f"{both:,} of the scored sentences also occur among those that train"] if both else []
