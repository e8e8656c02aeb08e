"""Predictions with parts switched off, one set of parts after the other, without computing anything twice.

A change in layer k leaves the layers below it untouched. So each batch is run once in full, every layer's output is
kept for the batch, and for a set of parts whose lowest layer is k the layers below k return what they returned then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from bertscope.core.examples import Examples
from bertscope.core.progress import progress
from bertscope.core.units import Unit
from bertscope.models.batches import batches
from bertscope.models.encoder import Encoder
from bertscope.models.gates import Gates, Means, Mode
from bertscope.models.observe import default_budget, evaluating


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
) -> np.ndarray:
    """The classifier's outputs with each set of parts in `off` switched off: [sets, examples, classes], float32.

    `replay=False` runs the whole model every time: the plain way, to compare with.
    """
    encoder.need_classifier()
    sets = [[unit.check(encoder.n_layers, encoder.n_heads) for unit in units] for units in off]
    outputs = np.zeros((len(sets), len(examples), encoder.model.config.num_labels), dtype=np.float32)
    budget = tokens or default_budget(encoder)
    with (
        evaluating([encoder]),
        torch.inference_mode(),
        encoder.gates(mode=mode, reference=reference) as gates,
        progress(f"switching off {len(sets)} parts of {encoder.name}", len(examples) * len(sets)) as bar,
    ):
        for batch in batches(
            encoder.tokenizer, examples, max_length=encoder.max_length, tokens=budget, window=window,
            device=encoder.device,
        ):  # fmt: skip
            kept = _layer_outputs(encoder, batch.inputs) if replay else []
            for place, units in enumerate(sets):
                below = min((unit.layer_index for unit in units), default=encoder.n_layers) if replay else 0
                with _off(gates, units), _replayed(encoder, kept[:below]):
                    outputs[place, batch.rows] = encoder.model(**batch.inputs).logits.float().cpu().numpy()
                bar.advance(len(batch))
    return outputs


@contextmanager
def _off(gates: Gates, units: Sequence[Unit]) -> Iterator[None]:
    for unit in units:
        gates.switch_off(unit)
    try:
        yield
    finally:
        gates.all_on()


def _layer_outputs(encoder: Encoder, inputs: dict[str, Tensor]) -> list[Tensor]:
    """What each layer puts out in the whole model, as the layer itself returns it."""
    kept: list[Tensor] = []

    def keep(module: nn.Module, args: object, output: Tensor) -> None:
        kept.append(output)

    hooks = [layer.register_forward_hook(keep) for layer in encoder.layers]
    try:
        encoder.model(**inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return kept


@contextmanager
def _replayed(encoder: Encoder, kept: Sequence[Tensor]) -> Iterator[None]:
    """Let the lowest layers return `kept` instead of computing."""
    layers = encoder.layers[: len(kept)]
    for layer, output in zip(layers, kept, strict=True):
        layer.forward = lambda *args, _output=output, **kwargs: _output
    try:
        yield
    finally:
        for layer in layers:
            del layer.forward  # the class's own is behind it
