"""How much the loss feels each head, MLP and neuron: the gradient at its gate, example by example.

A gate multiplies what a part puts out, so that the gradient at it is the loss's first-order change if the part were
turned up a little. Gates with a batch axis give every example its own gradient in one backward pass of the summed
loss: what is found depends neither on batches nor on their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from torch import Tensor

from bertscope.core.errors import UserError
from bertscope.core.progress import progress
from bertscope.core.units import Mode, Unit
from bertscope.models.evaluating import frozen
from bertscope.models.finite_pass import measuring, not_finite
from bertscope.models.gates import Gates
from bertscope.models.observe import default_budget
from bertscope.models.outputs.base import RowBatch
from bertscope.models.outputs.kinds import model_output

if TYPE_CHECKING:
    from bertscope.core.examples import Examples
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder
    from bertscope.models.gates import Reference

Form = Literal["example", "token", "cumulative"]


@dataclass(frozen=True)
class Gradients:
    """What the loss feels of each part: an expectation over examples, never negative."""

    heads: np.ndarray
    """[layer, head]; NaN where a layer that was cut has no such head."""
    mlps: np.ndarray
    """[layer]; NaN where a layer has lost its MLP."""
    neurons: list[np.ndarray] | None
    """[neuron] of each layer, if they were asked for."""

    def normalised(self) -> Gradients:
        """As the papers rank parts: heads divided by the length of their layer's vector, then all set between 0 and
        1; MLPs set between 0 and 1; neurons as heads. NaN stays NaN and counts for nothing."""
        neurons = None
        if self.neurons is not None:
            together = _between(np.concatenate([unit_length(layer) for layer in self.neurons]))
            neurons = np.split(together, np.cumsum([len(layer) for layer in self.neurons])[:-1])
        return Gradients(_between(unit_length(self.heads)), _between(self.mlps), neurons)


@dataclass(frozen=True)
class ExampleGradients:
    """The same of each example of one batch, before any size is taken."""

    rows: np.ndarray
    """The examples' positions."""
    outputs: np.ndarray
    """[example, ...], in the order of the task's labels."""
    losses: np.ndarray
    """[example]"""
    heads: np.ndarray
    """[example, layer, head]"""
    mlps: np.ndarray
    """[example, layer]"""
    neurons: list[np.ndarray]
    """[example, neuron] of each layer; empty if they weren't asked for."""
    truncated: int
    """How many of these texts are longer than the model reads, and were cut."""


def gate_gradients(
    encoder: Encoder,
    task: Task,
    examples: Examples,
    *,
    form: Form = "example",
    off: Iterable[str | Unit] = (),
    neurons: bool = False,
    tokens: int | None = None,
    batch_size: int = 32,
) -> Gradients:
    """The expected size of the loss's gradient at each part's gate, with the parts in `off` switched off.

    form        `example`: the mean over examples of |dL/dgate|, L being one example's loss. `token`: the mean over
                examples of the sum over tokens of |output . dL/doutput|, as in Michel's code, which then divides by
                the number of tokens. `cumulative`: as scripts do that never clear the gate's gradient: after each
                batch the size of the sum so far (see `cumulated`); it depends on the order of the examples and on
                `batch_size`, and is here to compare with what such scripts found.
    off         switched off to 0; the gradient at such a gate is that at 0
    tokens      the budget of a batch, padding included: it decides about time and memory, not about the answer
    """
    if form == "cumulative" and neurons:
        raise UserError("the cumulative form is for comparison with old results, which have no neurons; ask for "
                        "heads and MLPs, or for another form")  # fmt: skip
    found = example_gradients(
        encoder, task, examples, per_token=form == "token", off=off, neurons=neurons, tokens=tokens
    )
    if form == "cumulative":
        heads = np.zeros((len(examples), encoder.n_layers, encoder.n_heads))
        mlps = np.zeros((len(examples), encoder.n_layers))
        for part in found:
            heads[part.rows], mlps[part.rows] = part.heads, part.mlps
        return Gradients(cumulated(heads, batch_size), cumulated(mlps, batch_size), None)
    sums: list[np.ndarray] = []
    for part in found:
        sizes = [np.abs(each).sum(0, dtype=np.float64) for each in (part.heads, part.mlps, *part.neurons)]
        sums = [one + other for one, other in zip(sums, sizes, strict=True)] if sums else sizes
    heads, mlps, *rest = (total / len(examples) for total in sums)
    return Gradients(heads, mlps, rest if neurons else None)


def cumulated(signed: np.ndarray, batch_size: int) -> np.ndarray:
    """What a script finds that never clears the gates' gradients, from each example's own, [example, ...].

    It goes through the examples in their order, takes the gradient of each batch's mean loss, adds it to what is
    there, and adds up the sizes of these running sums. Divided by the number of batches, not, as in such scripts,
    by the number of tokens.
    """
    means = [part.mean(0) for part in np.split(signed, range(batch_size, len(signed), batch_size))]
    return np.abs(np.cumsum(means, axis=0)).mean(0)


def example_gradients(
    encoder: Encoder,
    task: Task,
    examples: Examples,
    *,
    per_token: bool = False,
    off: Iterable[str | Unit] = (),
    neurons: bool = False,
    tokens: int | None = None,
    mode: Mode = "zero",
    reference: Reference | None = None,
    at: float = 1.0,
) -> Iterator[ExampleGradients]:
    """Every example's gradient at every gate, with its sign, a batch at a time; or, if `per_token`, the sum over the
    example's tokens of the sizes of the gradients at gates that each token has for itself.

    mode   what a part leaves behind as its gate closes, as for `Encoder.gates`; with `reference`
    at     where all gates of heads and MLPs stand that aren't off: between 0 and 1
    """
    asked = model_output(encoder, task.output)
    if not len(examples):
        raise UserError("there is no loss without labelled examples; give a labelled split of the task")
    # The way back needs what the way forth left: half of the usual budget spares a GPU's memory and a CPU's cache.
    budget = tokens or default_budget(encoder) // 2
    with (
        measuring([encoder]),
        frozen(encoder),
        encoder.gates(off, mode=mode, reference=reference) as gates,
        asked.sparing(),
        progress(f"gradients at the gates of {encoder.name}", len(examples)) as bar,
    ):
        rest = _Rest.of(encoder, gates, neurons=neurons, at=at)
        for batch in asked.batches(examples, tokens=budget, gold=True):
            with torch.enable_grad():
                separate = rest.separate(gates, batch, per_token=per_token)
                raw = asked.run(batch)
                total, count = asked.losses(raw, batch)
                losses = total / count / task.loss_scale
                found = torch.autograd.grad(losses.sum(), separate, materialize_grads=True)
            if per_token:  # padding has no part in the loss: its gradients are 0
                found = tuple(gradient.abs().sum(1) for gradient in found)
            arrays = [batch.per_example(gradient).cpu().numpy() for gradient in found]
            if not all(np.isfinite(array).all() for array in arrays):
                raise not_finite(encoder.name, "on the way back, in its gradients")
            with torch.no_grad():
                said = asked.outputs(raw, batch).detach().cpu().numpy()
            in_order, _ = task.output.in_order(said, encoder.labels)
            yield rest.collect(batch, in_order, losses.detach().cpu().numpy(), arrays)
            bar.advance(len(batch.examples))


@dataclass(frozen=True)
class _Rest:
    """The gates as they stand during the measurement: 1, or lower, and 0 for what is off."""

    heads: Tensor
    mlps: Tensor
    neurons: list[Tensor]
    head_counts: list[int]
    neuron_counts: list[int]

    @classmethod
    def of(cls, encoder: Encoder, gates: Gates, *, neurons: bool, at: float) -> _Rest:
        counts = encoder.neuron_counts
        values = [gates.neurons.get(layer, gates.mlps.new_ones(n)) for layer, n in enumerate(counts)]
        return cls(at * gates.heads, at * gates.mlps, values if neurons else [], encoder.head_counts, counts)

    def separate(self, gates: Gates, batch: RowBatch, *, per_token: bool) -> list[Tensor]:
        """Give each row of the batch, or each of its tokens, gates of its own, whose gradient is wanted."""
        rows, width = batch.inputs["input_ids"].shape
        own = (rows, width) if per_token else (rows,)

        def apart(gate: Tensor, axes: tuple[int, ...]) -> Tensor:
            return gate.expand(*axes, *gate.shape).clone().requires_grad_()

        gates.heads, gates.mlps = apart(self.heads, own), apart(self.mlps, own)
        each = [apart(gate, (rows, width if per_token else 1)) for gate in self.neurons]
        gates.neurons |= dict(enumerate(each))
        return [gates.heads, gates.mlps, *each]

    def collect(
        self, batch: RowBatch, outputs: np.ndarray, losses: np.ndarray, found: list[np.ndarray]
    ) -> ExampleGradients:
        heads, mlps, *neurons = found
        for layer, (n_heads, n_neurons) in enumerate(zip(self.head_counts, self.neuron_counts, strict=True)):
            heads[:, layer, n_heads:] = np.nan
            if not n_neurons:
                mlps[:, layer] = np.nan
        each = [gradient.reshape(len(batch.examples), -1) for gradient in neurons]
        return ExampleGradients(batch.examples, outputs, losses, heads, mlps, each, batch.truncated)


def unit_length(values: np.ndarray) -> np.ndarray:
    """Each vector along the last axis divided by its length; NaN counts for nothing, and zeros stay zeros."""
    length = np.sqrt(np.nansum(values**2, axis=-1, keepdims=True))
    return values / np.where(length > 0, length, 1.0)


def _between(values: np.ndarray) -> np.ndarray:
    """The values between 0, for the smallest, and 1, for the largest."""
    known = values[~np.isnan(values)]
    low, high = (known.min(), known.max()) if known.size else (0.0, 1.0)
    return (values - low) / ((high - low) or 1.0)
