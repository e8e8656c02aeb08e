"""Predictions with parts switched off, one set of parts after the other, without computing anything twice.

A change in layer k leaves the layers below it untouched. So each batch is run once in full, every layer's output is
kept for the batch, and for a set of parts whose lowest layer is k the layers below k return what they returned then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bertscope.core.examples import Examples
from bertscope.core.progress import progress
from bertscope.core.units import Unit
from bertscope.models.batches import batches
from bertscope.models.encoder import Encoder
from bertscope.models.gates import Gates, Means, Mode
from bertscope.models.observe import default_budget, evaluating
from bertscope.models.rows import first_token_only
from bertscope.models.taps import Tap, layer_reached, tapped


@dataclass(frozen=True)
class Switched:
    logits: np.ndarray
    """[sets of parts, examples, classes], float32."""
    truncated: int
    """How many texts are longer than the model reads, and were cut."""


def predict_without(
    encoder: Encoder,
    examples: Examples,
    off: Sequence[Sequence[Unit]],
    *,
    mode: Mode = "zero",
    reference: Means | None = None,
    replay: bool = True,
    tokens: int | None = None,
    window: int = 2048,
) -> Switched:
    """The classifier's outputs with each set of parts in `off` switched off.

    `replay=False` runs all of the model every time: the plain way, to compare with.
    """
    encoder.need_classifier()
    sets = [[unit.check(encoder.head_counts, encoder.neuron_counts) for unit in units] for units in off]
    outputs = np.zeros((len(sets), len(examples), encoder.model.config.num_labels), dtype=np.float32)
    budget, truncated = tokens or default_budget(encoder), 0
    with (
        evaluating([encoder]),
        torch.inference_mode(),
        encoder.gates(mode=mode, reference=reference) as gates,
        first_token_only(encoder) if replay else nullcontext(),
        progress(f"switching off {len(sets)} parts of {encoder.name}", len(examples) * len(sets)) as bar,
    ):
        for batch in batches(
            encoder.tokenizer, examples, max_length=encoder.max_length, tokens=budget, window=window,
            device=encoder.device,
        ):  # fmt: skip
            kept = _Keep()
            if replay:
                with tapped(encoder, kept):
                    encoder.model(**batch.inputs)
            logits = []  # copied from the device once per batch, not once per set
            for units in sets:
                below = min((unit.layer_index for unit in units), default=encoder.n_layers) if replay else 0
                with _off(gates, units), _replayed(encoder, kept.outputs[:below]):
                    logits.append(encoder.model(**batch.inputs).logits)
                bar.advance(len(batch))
            outputs[:, batch.rows] = torch.stack(logits).float().cpu().numpy()
            truncated += batch.truncated
    return Switched(outputs, truncated)


@contextmanager
def _off(gates: Gates, units: Sequence[Unit]) -> Iterator[None]:
    for unit in units:
        gates.switch_off(unit)
    try:
        yield
    finally:
        gates.all_on()


class _Keep(Tap):
    """Keeps what each layer puts out in the whole model."""

    def __init__(self) -> None:
        self.outputs: list[Tensor] = []

    def on_layer(self, layer: int, before: Tensor, after: Tensor) -> Tensor:
        self.outputs.append(after)
        return after


@contextmanager
def _replayed(encoder: Encoder, kept: Sequence[Tensor]) -> Iterator[None]:
    """Let the lowest layers return `kept` instead of computing."""
    blocks = dict.fromkeys(encoder.layers) if kept else {}
    for block in blocks:
        block.forward = _either(encoder, kept, block.forward)
    try:
        yield
    finally:
        for block in blocks:
            del block.forward  # the class's own is behind it


def _either(encoder: Encoder, kept: Sequence[Tensor], compute: Callable[..., Any]) -> Callable[..., Any]:
    returns_tuple = encoder.family.hooked  # those families' blocks return their attention beside their output

    def forward(*args: Any, **kwargs: Any) -> Any:
        layer = layer_reached(encoder)
        if layer >= len(kept):
            return compute(*args, **kwargs)
        return (kept[layer], None) if returns_tuple else kept[layer]

    return forward
