"""A task: labelled examples in three splits, and how predictions for them are scored.

Train trains weights; validation, held out of every training, decides whatever is chosen; test is only scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.files import canonical_json, digest_text
from bertscope.core.intervals import interval, unless_alike
from bertscope.core.output import Answering, Output
from bertscope.core.predictions import Predictions
from bertscope.core.resampling import Value, metric_draws
from bertscope.data.lengths import describe_lengths
from bertscope.data.metrics import refuse_not_finite
from bertscope.data.outputs import output_of
from bertscope.data.outputs.classes import Classes
from bertscope.data.outputs.masked_words import MaskedWords
from bertscope.data.outputs.scores import OneScore
from bertscope.data.outputs.several import SeveralLabels
from bertscope.data.outputs.vectors import as_cosines
from bertscope.data.scored import Scores

Kind = Literal["classification", "regression", "several", "choices", "spans", "trees", "tokens", "masked", "vectors"]
"""What is learnt: a label, a score, any number of labels, one of several candidate texts, a span of a text, a
dependency tree, a tag for each word, masked words, how near vectors of texts are; see `data/outputs`."""


SPLITS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class Task:
    """What a model is fine-tuned and scored on.

    >>> task = read_task("demo/sentiment")                                # doctest: +SKIP
    >>> task.score(encoder.predict(task.test)).number                     # doctest: +SKIP

    Whatever takes predictions matches their labels with the task's: by name, whatever the case; where one side has
    only numbers for names (`LABEL_0`) by their order, which `Scores.notes` says; anything else is refused. A bare
    array of outputs has no names: it is taken to be in the order of the task's labels.
    """

    name: str
    kind: Kind
    labels: tuple[str, ...]
    """The classes, or relations, of which gold has the places; empty where there are none."""
    train: Examples
    validation: Examples
    test: Examples
    metric: str
    """One of those that `metrics.METRICS` has for the kind."""
    notes: tuple[str, ...] = ()
    """What a reader must know about how the data was read."""
    windows: int = 0
    """Of labels and scores: in how many windows a text is read at most that is longer than the model allows; 0
    truncates it."""
    threshold: float | None = None
    """Of several labels a text: above which log-odds a label is given (0 is a probability of .5). None: each model
    that is asked has its own, the best on the validation set; see `decided_by`."""
    taken_from: str | None = None
    """The fingerprint of the task that these are some rows of, split by split, where a limit was asked for."""

    def __repr__(self) -> str:
        rows = ", ".join(f"{len(getattr(self, split)):,} {split}" for split in SPLITS)
        labels = f" ({', '.join(self.labels)})" if 0 < len(self.labels) <= 10 else ""
        return f"<{type(self).__name__} {self.name}: {self.kind}{labels}, rows {rows}, scored by {self.metric}>"

    @cached_property
    def output(self) -> Output:
        """What a prediction is here."""
        output = output_of(self.kind, self.name, self.labels, self.metric)
        if isinstance(output, Classes | OneScore | SeveralLabels) and self.windows:
            output = replace(output, windows=self.windows)
        if isinstance(output, SeveralLabels) and self.threshold is not None:
            output = replace(output, threshold=self.threshold)
        return output

    def asked_of(self, model: Answering) -> Task:
        """The task as this model answers it; refused, with what to do, where it doesn't."""
        task = self.read_by(model)
        if notes := model.notes_on(task.output, task.test):
            task = replace(task, notes=(*task.notes, *notes))
        return task if task.is_decided else task.decided_by(model.predict(task.validation, task.output))

    def read_by(self, model: Answering) -> Task:
        """The task as this model reads it, before its answers decide anything."""
        kind = model.form_of(self.kind, pairs=self.test.pair is not None)
        if kind == "vectors" != self.kind:
            task = self.by_vectors(f"{model.name} gives no score of its own")
        else:
            task = self if kind == self.kind else replace(self, kind=kind)  # type: ignore[arg-type]
        model.need(task.output)
        train, validation, test = (model.marked(task.output, getattr(task, split)) for split in SPLITS)
        if test is task.test:
            return task
        return replace(task, train=train, validation=validation, test=test, notes=task._notes_on(train, test))

    def by_vectors(self, why: str = "") -> Task:
        """Scored pairs as a task of sentence vectors: the cosine of two texts beside their score."""
        self.need_scored_pairs()
        if self.kind == "vectors":
            return self
        assert isinstance(self.output, OneScore)
        if self.windows:
            raise UserError(f"windows are for labels and scores; {self.name} is asked for vectors: leave them out")
        train, validation, test = (as_cosines(self.output, self.train, getattr(self, split)) for split in SPLITS)
        note = f"{f'{why}: ' if why else ''}pairs are scored by the cosine of their texts' vectors"
        return Task(self.name, "vectors", (), train, validation, test, self.metric, (*self.notes, note))

    def _notes_on(self, train: Examples, test: Examples) -> tuple[str, ...]:
        """The notes with those on masked words, instead of what was said of them for another model."""
        if not isinstance(self.output, MaskedWords):
            return self.notes
        earlier = () if self.needs_model else self.output.notes_on(self.train, self.test)
        return (*(note for note in self.notes if note not in earlier), *self.output.notes_on(train, test))

    @property
    def needs_model(self) -> bool:
        """Whether what is right can't be said before a model is asked, as the pieces of masked words."""
        return self.kind == "masked" and self.test.label is None

    @property
    def is_decided(self) -> bool:
        """Whether nothing is left for a model's answers to the validation set to decide."""
        return self.threshold is not None or not isinstance(self.output, SeveralLabels)

    def decided_by(self, predicted: Predictions) -> Task:
        """The task with what a model's answers to the validation set decide: of several labels, from which
        probability on one is given. Forms of a model with parts off, cut or pruned are held to what the whole model
        decided; a model that was trained decides for itself."""
        output = self.output
        if self.is_decided or not isinstance(output, SeveralLabels):
            return self
        outputs = self.outputs(predicted)
        best = output.best_threshold(outputs, self.gold(self.validation, outputs))
        share = f"{1 / (1 + np.exp(-best)):.3g}"
        note = f"a label is given where its probability is above {share}: the best micro F1 on validation"
        return replace(self, threshold=best, notes=(*self.notes, note))

    @property
    def fingerprint(self) -> str:
        """The digest of what a model fine-tuned on this task learns from and is chosen by."""
        splits = [[split.text, split.pair, self.output.learnt(split)] for split in (self.train, self.validation)]
        read = [self.labels, splits, *([self.windows] if self.windows else [])]
        return digest_text(canonical_json(read))

    def may_have_been_seen_by(self, model: Answering) -> bool:
        """Whether the model learnt from another split of this data, or other data, for all that is known."""
        return model.tuned_on not in (None, self.fingerprint, self.taken_from)

    def outputs(self, predicted: Predictions | np.ndarray) -> np.ndarray:
        """A model's outputs [..., n, ...] in the order of the task's labels."""
        return self._matched(predicted)[0]

    def label_notes(self, names: Sequence[str]) -> list[str]:
        """What a reader must know about how outputs that a model calls `names` are matched with the labels."""
        none = np.zeros((0, *self.output.width(self.test)), dtype=np.int64)
        return self.output.in_order(none, names)[1]

    def outputs_to_predictions(self, predicted: Predictions | np.ndarray) -> np.ndarray:
        """From a model's outputs [..., n, ...] to what is predicted: class indices, or scores, [..., n]."""
        return self.output.predictions(self._finite(predicted))

    def moments(self, predicted: Predictions | np.ndarray, examples: Examples | None = None) -> np.ndarray:
        """The primary metric's moments [..., n, k] of outputs [..., n, ...] for `examples` (test by default)."""
        outputs = self.outputs(predicted)
        return self.output.moments(self.outputs_to_predictions(outputs), self.gold(examples, outputs))

    def losses(self, predicted: Predictions | np.ndarray, examples: Examples | None = None) -> np.ndarray:
        """Each example's loss [..., n] of outputs [..., n, c] for `examples` (test by default): cross-entropy in
        nats, or the squared error in the task's own unit."""
        outputs = self._finite(predicted)
        return self.output.losses(outputs, self.gold(examples, outputs))

    @property
    def loss_unit(self) -> str:
        return self.output.loss_unit

    @cached_property
    def loss_scale(self) -> float:
        """What the loss is divided by where tasks are compared: the variance of train's scores, or 1."""
        if not isinstance(self.output, OneScore):
            return 1.0
        return (float(self.output.gold(self.train).std()) or 1.0) ** 2

    def divergence(self, whole: Predictions | np.ndarray, other: Predictions | np.ndarray) -> np.ndarray:
        """How far outputs [..., n, c] say something else of each example [..., n] than the whole model's [n, c]:
        KL(whole || other) in nats, or the squared change of the score."""
        return self.output.divergence(self._finite(whole), self._finite(other))

    def flips(self, whole: Predictions | np.ndarray, other: Predictions | np.ndarray) -> np.ndarray:
        """Whether they predict something else of each example [..., n] than the whole model's do; NaN of scores."""
        return self.output.flips(self.outputs_to_predictions(whole), self.outputs_to_predictions(other))

    @cached_property
    def can_flip(self) -> bool:
        """Whether a prediction is another or the same; a score changes by degrees."""
        blind = self.output.predictions(self.blind_outputs(self.test))
        return not np.isnan(self.output.flips(blind, blind)).any()

    @property
    def value(self) -> Value:
        """From means of the primary metric's moments [..., k] to the metric [...]."""
        return self.output.value

    def score(self, predicted: Predictions | np.ndarray, examples: Examples | None = None) -> Scores:
        """How good what `Encoder.predict` gave, or bare outputs, are for `examples` (test by default)."""
        outputs, notes = self._matched(predicted)
        self.gold(examples, outputs)  # or they are of other examples
        return self.score_answers(self.outputs_to_predictions(outputs), examples, notes=notes)

    def score_answers(
        self, answers: np.ndarray, examples: Examples | None = None, *, notes: Sequence[str] = ()
    ) -> Scores:
        """How good what is predicted of `examples` (test by default) is, where that is all that was kept."""
        gold = self.output.gold(self.test if examples is None else examples)
        moments = self.output.moments(answers, gold)
        draws = metric_draws(self.value, moments[None])[:, 0]
        ends = interval(draws)
        low, high = map(float, unless_alike(draws[0], ends, len(moments)) if self.output.counts_hits else ends)
        return Scores(
            metric=self.metric,
            value=float(self.value(moments.mean(0))),
            draws=draws,
            low=low,
            high=high,
            n=len(moments),
            chance=self.chance(examples),
            secondary=self.output.secondary(answers, gold),
            notes=tuple(notes),
        )

    def chance(self, examples: Examples | None = None) -> float:
        """The primary metric of a model that ignores its input."""
        return float(self.value(self.blind_moments(examples).mean(0)))

    def blind_moments(self, examples: Examples | None = None) -> np.ndarray:
        """The moments [n, k] of such a model's answers to `examples` (test by default)."""
        examples = self.test if examples is None else examples
        return self.moments(self.blind_outputs(examples), examples)

    def blind_outputs(self, examples: Examples) -> np.ndarray:
        """Outputs [n, ...] of who has seen train's answers but no text: train's most frequent label, its mean score,
        or what `Output.blind` has for the kind."""
        return self.output.blind(self.train, examples)

    def gold(self, examples: Examples | None, outputs: np.ndarray) -> np.ndarray:
        """What is right of the examples (test by default), as many as the outputs are of."""
        examples = self.test if examples is None else examples
        gold, axis = self.output.gold(examples), len(self.output.width(examples)) + 1
        if outputs.ndim < axis or outputs.shape[-axis] != len(gold):
            raise ValueError(f"outputs {outputs.shape} are not those of {len(gold)} examples")
        return gold

    def need_scored_pairs(self) -> None:
        """Refuse, with what to do, if this isn't about how alike two texts are."""
        if self.kind not in ("regression", "vectors") or self.test.pair is None:
            raise UserError(
                f"{self.name} has no pairs of texts with scores; give a task such as glue/stsb or demo/similarity"
            )

    def describe(self) -> dict[str, Any]:
        """Rows, labels, lengths, chance and the most frequent label of each split: plain values for JSON."""
        splits = {name: getattr(self, name) for name in SPLITS}
        return {
            "name": self.name,
            "kind": self.kind,
            "labels": list(self.labels),
            "metric": self.metric,
            "chance": None if self.needs_model else self.chance(),
            "splits": {name: self._describe(examples) for name, examples in splits.items()},
            "notes": list(self.notes),
        }

    def _describe(self, examples: Examples) -> dict[str, Any]:
        chance = None if self.needs_model else self.chance(examples)
        return describe_lengths(examples) | self.output.describe(examples) | {"chance": chance}

    def _matched(self, predicted: Predictions | np.ndarray) -> tuple[np.ndarray, Sequence[str]]:
        """A model's outputs in the order of the labels, and what to say about that."""
        if not isinstance(predicted, Predictions):
            return predicted, ()
        return self.output.in_order(predicted.logits, predicted.labels)

    def _finite(self, predicted: Predictions | np.ndarray) -> np.ndarray:
        """A model's outputs in the order of the labels, each a number."""
        outputs = self.outputs(predicted)
        self.output.refuse_other_width(outputs)
        refuse_not_finite(outputs)
        return outputs
