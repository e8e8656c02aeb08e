"""What a prediction is: the one thing that tasks of different kinds differ in.

`Task` has an output and asks it, and so do the questions that score: none knows its kind. A further kind is one more
class with these members in `data/outputs`, and its other half (`ModelOutput`) in `models/outputs`.

Three things are told apart. *Outputs* [..., n, ...] are what is kept of what a model says of n examples: a number for
each class, a span, a governor and a relation for each word. *Predictions* are what follows from them, and *gold* is
what would be right; both have a row for each example, and whatever axes behind it the kind needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from bertscope.core.decisions import Decisions
from bertscope.core.examples import Examples
from bertscope.core.predictions import Predictions
from bertscope.core.resampling import Value

SILENT = -(2.0**100)
"""Stands among a model's numbers for labels where it says nothing: of a label that it lacks, of a word that it
doesn't read, behind a sentence's end. A number that is finite, and that no probability is left of."""


class Output(Protocol):
    @property
    def kind(self) -> str:
        """What tasks call it, such as `classification`."""

    @property
    def labels(self) -> tuple[str, ...]:
        """What the outputs are called, in the task's order; empty where they have no names."""

    @property
    def metric(self) -> str:
        """The primary metric."""

    @property
    def value(self) -> Value:
        """From means of the primary metric's moments [..., k] to the metric [...]."""

    @property
    def loss(self) -> str:
        """What the loss is called, such as `cross-entropy`."""

    @property
    def loss_unit(self) -> str:
        """What it is measured in, such as `nats`."""

    @property
    def divergence_key(self) -> str:
        """What tables call the divergence, such as `kl`."""

    @property
    def blind_answer(self) -> str:
        """What is answered without looking at the texts, in a word, such as `majority`."""

    @property
    def counts_hits(self) -> bool:
        """Whether the metric's one moment is 1 or 0, so that a paired test of it is exact."""

    def width(self, examples: Examples) -> tuple[int, ...]:
        """The axes of outputs behind the one of examples, as long as these examples need them."""

    def gold(self, examples: Examples) -> np.ndarray:
        """What is right [n, ...]; examples that don't say it are refused."""

    def learnt(self, examples: Examples) -> Any:
        """The same as plain values: what tells one training set from another."""

    def in_order(self, outputs: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
        """Outputs of a model that calls them `names` as the task's labels have them, and what to say about that.
        Refuses, with what to do, what can't be matched."""

    def refuse_other_width(self, outputs: np.ndarray) -> None:
        """Refuse outputs that are those of another task."""

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        """From outputs in the task's order [..., n, ...] to what is predicted [..., n, ...]."""

    def moments(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """The primary metric's moments [..., n, k]."""

    def correct(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """Whether all that is predicted of each example is right [..., n], 1 or 0; NaN where nothing is right or
        wrong, as of scores."""

    def decisions(self, outputs: np.ndarray, gold: np.ndarray) -> Decisions | None:
        """What one model's outputs in the task's order [n, ...] decide, with the probabilities they stand for; None
        where what is kept holds none."""

    def by_label(self, predicted: np.ndarray, gold: np.ndarray) -> tuple[tuple[str, ...], np.ndarray] | None:
        """The names of labels (types of entities), and how often each is given rightly, given, and right in each
        example of one model's predictions [n, labels, 3]; None where there are no labels."""

    def flips(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Whether other predictions [..., n, ...] say something else of each example [..., n] than those of the whole
        model [n, ...], 1 or 0; NaN where nothing can flip."""

    def losses(self, outputs: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """Each example's loss [..., n], where outputs in the task's order are all that it needs; where they aren't,
        only the model can say it, and this says so."""

    def divergence(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        """How far outputs say something else of each example [..., n] than those of the whole model, whatever is
        right; 0 where they say the same. Where outputs don't tell, as for `losses`."""

    def secondary(self, predicted: np.ndarray, gold: np.ndarray) -> dict[str, float]:
        """What stands beside the primary metric, for one model's predictions."""

    def blind(self, train: Examples, examples: Examples) -> np.ndarray:
        """The outputs for examples of who has seen the training set's answers, but no text of theirs."""

    def describe(self, examples: Examples) -> dict[str, Any]:
        """What there is to predict in a split, as plain values for JSON."""


class Answering(Protocol):
    """A model as tasks see it: `Encoder` is one."""

    @property
    def name(self) -> str: ...

    @property
    def tuned_on(self) -> str | None:
        """The fingerprint of the task that it was trained on last, if that is known."""

    def form_of(self, kind: str, *, pairs: bool) -> str:
        """As which kind of output this model answers a task of that kind: mostly as that; an encoder with nothing on
        top answers scores of pairs by its vectors, a reranker two labels by one number. Refuses, with what to do,
        what it can't answer at all."""

    def need(self, output: Output) -> None:
        """Refuse, with what to do, if this model doesn't give such outputs."""

    def notes_on(self, output: Output, examples: Examples) -> tuple[str, ...]:
        """What a reader must know of how this model reads examples that are scored, beside how many are truncated."""

    def marked(self, output: Output, examples: Examples) -> Examples:
        """The examples with what only this model's tokenizer can say of the right answers: the pieces of words that
        are masked."""

    def predict(self, examples: Examples, output: Output | None = None) -> Predictions:
        """What it says of the examples."""
