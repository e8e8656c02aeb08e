"""What a model says, and what forms of it say that were changed for a moment: scored, batch by batch, as it says it.

Of what hundreds of forms put out for thousands of examples nothing is kept but what they predict, their losses, and
how far they are from the first form.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.output import Output
from bertscope.core.predictions import Judged, Predictions
from bertscope.core.units import Mode, Unit
from bertscope.models.donors import DRAWS
from bertscope.models.encoder import Encoder
from bertscope.models.gates import Reference
from bertscope.models.means import Means
from bertscope.models.outputs.base import ModelOutput, RowBatch, put
from bertscope.models.outputs.kinds import model_output
from bertscope.models.replay import TemporaryChange, run_each, switched_off


def judge_without(
    encoder: Encoder,
    output: Output,
    examples: Examples,
    off: Sequence[Sequence[Unit]],
    *,
    mode: Mode = "zero",
    reference: Reference | Sequence[Means] | None = None,
    replay: bool = True,
    tokens: int | None = None,
) -> Judged:
    """The examples scored with each set of parts in `off` switched off; the first is what others are compared with.

    reference   what `mode` needs (`models/references.py` has it of a validation set); of `optimal` one for each set
    replay      False runs all of the model every time: the plain way, to compare with

    `resample` is the mean of several draws: of losses, moments and divergences; flips are the share of draws.
    """
    draws = DRAWS if mode == "resample" else 1
    with switched_off(encoder, off, mode=mode, reference=reference, draws=draws) as changes:
        found = judge_each(encoder, output, examples, changes, replay=replay, tokens=tokens)
    return found if draws == 1 else found.mean_of([draws if units else 1 for units in off])


def judge_each(
    encoder: Encoder,
    output: Output,
    examples: Examples,
    changes: Sequence[TemporaryChange],
    *,
    replay: bool = True,
    tokens: int | None = None,
    **told: str,
) -> Judged:
    """The same with each change, made inside the block that opened the taps."""
    asked = model_output(encoder, output)
    judging = Judging(asked, examples, len(changes))
    run_each(asked, examples, changes, judging.take, gold=True, replay=replay, tokens=tokens, **told)
    return judging.judged()


class Judging:
    """Takes what forms of a model say of one batch after the other."""

    def __init__(self, asked: ModelOutput, examples: Examples, forms: int) -> None:
        assert asked.output is not None
        self._asked, self._output, self._examples = asked, asked.output, examples
        self._losses, self._divergence = (np.zeros((forms, len(examples))) for _ in range(2))
        self._predicted: np.ndarray | None = None
        self._truncated = 0

    def take(self, batch: RowBatch, forms: Iterator[Any]) -> None:
        """What each form says of a batch, in order; nothing waits for the device but the end of the batch."""
        asked, first = self._asked, None
        outputs, numbers = list[Tensor](), list[Tensor]()
        for raw in forms:
            exact = asked.double(raw)
            first = exact if first is None else first
            total, count = asked.losses(exact, batch)
            outputs.append(asked.outputs(raw, batch))
            numbers.append(torch.stack([total / count, asked.divergence(first, exact, batch)]))
        found = torch.stack(numbers, 1).cpu().numpy()  # [2, form, example]
        self._losses[:, batch.examples], self._divergence[:, batch.examples] = found
        self._keep(batch.examples, torch.stack(outputs).cpu().numpy())
        self._truncated += batch.truncated

    def _keep(self, at: np.ndarray, outputs: np.ndarray) -> None:
        in_order, _ = self._output.in_order(outputs, self._asked.encoder.labels)
        predicted = self._output.predictions(in_order)
        if self._predicted is None:
            nothing = self._asked.nothing_predicted(self._examples, outputs.dtype)
            self._predicted = np.repeat(nothing[None], len(self._losses), 0)  # [form, example, ...]
        for form, one in zip(self._predicted, predicted, strict=True):
            put(form, at, one)

    def judged(self) -> Judged:
        if self._predicted is None:
            raise UserError("there are no examples to score; give some")
        output, predicted = self._output, self._predicted
        return Judged(
            moments=output.moments(predicted, output.gold(self._examples)),
            losses=self._losses,
            divergence=self._divergence,
            flips=output.flips(predicted[0], predicted),
            predicted=predicted,
            truncated=self._truncated,
        )


class Keeping:
    """Takes what forms of a model say of one batch after the other, and keeps all of it."""

    def __init__(self, asked: ModelOutput, examples: Examples, forms: int) -> None:
        self._asked, self._examples, self._forms = asked, examples, forms
        self._found: np.ndarray | None = None
        self._truncated = 0

    def take(self, batch: RowBatch, forms: Iterator[Any]) -> None:
        outputs = torch.stack([self._asked.outputs(raw, batch) for raw in forms]).cpu().numpy()
        if self._found is None:
            shape = (self._forms, len(self._examples), *self._asked.width(self._examples))
            self._found = np.full(shape, self._asked.padding, dtype=outputs.dtype)
        for form, one in zip(self._found, outputs, strict=True):
            put(form, batch.examples, one)
        self._truncated += batch.truncated

    def kept(self) -> Predictions:
        """[form, example, ...]"""
        assert self._found is not None
        return Predictions(self._examples.ids, self._found, self._asked.encoder.labels, self._truncated)


def predict_without(
    encoder: Encoder,
    examples: Examples,
    off: Sequence[Sequence[Unit]],
    *,
    mode: Mode = "zero",
    reference: Reference | Sequence[Means] | None = None,
    replay: bool = True,
    tokens: int | None = None,
) -> Predictions:
    """What is on top of the encoder says [set, example, ...] with each set of parts switched off; by `resample`, in
    the first draw."""
    asked = model_output(encoder)
    with switched_off(encoder, off, mode=mode, reference=reference) as changes:
        keeping = Keeping(asked, examples, len(changes))
        run_each(asked, examples, changes, keeping.take, replay=replay, tokens=tokens)
    return keeping.kept()
