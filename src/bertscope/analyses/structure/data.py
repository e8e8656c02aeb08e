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
"""Fewer sentences to fit teach nothing."""


@dataclass(frozen=True)
class Material:
    fit_on: Corpus
    fit: np.ndarray
    select: np.ndarray
    report_on: Corpus
    report: np.ndarray
    texts: Examples
    """Those of `report_on`."""
    notes: list[str]


def gather(scored: Stores, texts: Examples, fitted: Stores | None, fit_texts: Examples | None, seed: int) -> Material:
    """One corpus split in three; or `fit_texts` split in two, and `texts` to be scored whole."""
    device = best_device()
    report_on, report, notes = _corpus(scored, texts, device)
    if fitted is None or fit_texts is None:
        fit_on = report_on
        fit, select, report = (np.intersect1d(report, part) for part in parts(texts.text, seed, report=True))
    else:
        _refuse_other(scored, texts, fitted, fit_texts)
        fit_on, usable, more = _corpus(fitted, fit_texts, device)
        fit, select = (np.intersect1d(usable, part) for part in parts(fit_texts.text, seed, report=False))
        notes += more + _repeated(texts, report, fit_texts, fit)
    if len(fit) < _LEAST or not len(select) or not len(report):
        raise UserError(
            f"{len(fit)} sentences to train on, {len(select)} to select by and {len(report)} to score are too few; "
            "give more sentences, or other data to train on (fit)"
        )
    notes.append(f"{len(fit):,} sentences train, {len(select):,} select, {len(report):,} are scored")
    return Material(fit_on, fit, select, report_on, report, texts, notes)


def _corpus(stores: Stores, texts: Examples, device: torch.device) -> tuple[Corpus, np.ndarray, list[str]]:
    """The corpus, its sentences of whose every word every checkpoint has a vector, and a note on the others."""
    trees = Trees.of(texts)
    usable = np.all([np.diff(store.starts) == trees.lengths for store in stores.values()], axis=0)
    lost = int((~usable).sum())
    notes = [f"{lost:,} sentences of {texts.name or 'the texts'} are left out: too long, or a word without tokens"]
    corpus = Corpus(trees, {name: Vectors(store, device) for name, store in stores.items()}, device)
    return corpus, np.flatnonzero(usable), notes if lost else []


def _refuse_other(scored: Stores, texts: Examples, fitted: Stores, fit_texts: Examples) -> None:
    if texts.ids == fit_texts.ids and texts.text == fit_texts.text:
        raise UserError("the data to train on (fit) are the data to be scored; leave fit out and they are split")
    shapes = [{name: (store.layers, store.dim) for name, store in stores.items()} for stores in (scored, fitted)]
    if list(shapes[0].items()) != list(shapes[1].items()):
        raise UserError(
            f"the states to be scored are those of {', '.join(scored)}, the states to train on those of "
            f"{', '.join(fitted)}; give the same models' in the same order"
        )


def _repeated(texts: Examples, report: np.ndarray, fit_texts: Examples, fit: np.ndarray) -> list[str]:
    seen = {fit_texts.text[row] for row in fit}
    both = sum(texts.text[row] in seen for row in report)
    return [f"{both:,} of the scored sentences also occur among those that train"] if both else []
