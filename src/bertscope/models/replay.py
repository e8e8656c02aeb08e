"""A model with parts switched off, one set of parts after the other, without computing anything twice.

A change in layer k leaves the layers below it untouched, and what its own heads put out before any gate. So each
batch is run once in full, what every layer did is kept for the batch, and for a set of parts whose lowest layer is k
the layers below k return what they returned then, and layer k begins at its output projection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.progress import progress
from bertscope.core.units import Mode, Unit
from bertscope.models.encoder import Encoder
from bertscope.models.finite_pass import measuring
from bertscope.models.gates import Gates, Reference
from bertscope.models.means import Means
from bertscope.models.observe import default_budget
from bertscope.models.outputs.base import ModelOutput, RowBatch
from bertscope.models.taps import Kept, Run, run_of

Take = Callable[[RowBatch, Iterator[Any]], None]
"""Takes what forms of a model say of a batch, one after the other. It is called, rather than given a generator to
ask: that would leave the model as it is in a pass if whoever asks breaks off."""


@dataclass(frozen=True)
class TemporaryChange:
    """What is done to a model for one forward pass after the other; its taps are open already."""

    first: int
    """The lowest layer in which something changes, 0-based; as many as there are where nothing does."""
    block: Callable[[], AbstractContextManager[None]]
    """Makes the `with` block in which it holds."""
    keeps_attention: bool = True
    """Whether that layer's heads put out what they did, before any gate."""


@contextmanager
def switched_off(
    encoder: Encoder,
    off: Sequence[Sequence[Unit]],
    *,
    mode: Mode = "zero",
    reference: Reference | Sequence[Means] | None = None,
    draws: int = 1,
) -> Iterator[list[TemporaryChange]]:
    """The changes that switch each of these sets of parts off, inside the block; each set `draws` times, one after
    the other, but for one that is empty. A reference is for all sets, or there are as many as sets."""
    sets = [[unit.check(encoder.head_counts, encoder.neuron_counts) for unit in units] for units in off]
    own: Sequence[Reference | None] = (
        reference if isinstance(reference, Sequence) and reference else [reference] * len(sets)  # type: ignore[list-item]
    )
    if len(own) != len(sets):
        raise UserError(f"there are {len(own)} references for {len(sets)} sets of parts; give one, or one for each")
    with encoder.gates(mode=mode, reference=own[0] if own else None) as gates:
        yield [
            TemporaryChange(lowest_layer(encoder, units), partial(_off, gates, units, each, draw))
            for units, each in zip(sets, own, strict=True)
            for draw in range(draws if units else 1)
        ]


def lowest_layer(encoder: Encoder, units: Sequence[Unit]) -> int:
    """In which there is one of these parts, 0-based; as many as there are layers where there is none."""
    return min((unit.layer_index for unit in units), default=encoder.n_layers)


def run_each(
    asked: ModelOutput,
    examples: Examples,
    changes: Sequence[TemporaryChange],
    take: Take,
    *,
    gold: bool = False,
    replay: bool = True,
    tokens: int | None = None,
    doing: str = "switching off {parts} parts of {model}",
) -> None:
    """Let `take` have each batch, and what the model says of it with each change, inside the block that opened the
    taps.

    `replay=False` runs all of the model every time: the plain way, to compare with.
    """
    encoder = asked.encoder
    # What is kept of a batch must stay in a CPU's cache between the passes: half of the usual budget is 1.15x faster.
    budget = tokens or default_budget(encoder) // (2 if encoder.device.type == "cpu" else 1)
    parts = sum(change.first < encoder.n_layers for change in changes)
    with (
        measuring([encoder]),
        torch.inference_mode(),
        asked.sparing() if replay else nullcontext(),
        progress(doing.format(parts=parts, model=encoder.name), len(examples) * len(changes)) as bar,
    ):
        for batch in asked.batches(examples, tokens=budget, gold=gold):
            kept: list[Kept] = []
            if replay:
                with recorded(encoder) as kept:
                    asked.run(batch)

            def each(batch: RowBatch = batch, kept: list[Kept] = kept) -> Iterator[Any]:
                for change in changes:
                    first = change.first if replay else 0
                    with change.block(), replayed(encoder, kept, first, change.keeps_attention):
                        raw = asked.run(batch)
                    yield raw
                    bar.advance(len(batch.examples))

            take(batch, each())


@contextmanager
def _off(gates: Gates, units: Sequence[Unit], reference: Reference | None, draw: int) -> Iterator[None]:
    gates.reference, gates.draw = reference, draw
    for unit in units:
        gates.switch_off(unit)
    try:
        yield
    finally:
        gates.all_on()
        gates.draw = 0


@contextmanager
def recorded(encoder: Encoder) -> Iterator[list[Kept]]:
    """Keep what each layer does in the block's forward pass."""
    run, kept = run_of(encoder), list[Kept]()
    run.record = kept
    try:
        yield kept
    finally:
        run.record = None


@contextmanager
def replayed(encoder: Encoder, kept: Sequence[Kept], first: int, attention: bool = True) -> Iterator[None]:
    """Let the layers below `first` return what they returned before, and its own `attention`, if it is the same, what
    it found before."""
    run = run_of(encoder)
    run.settled = first
    with ExitStack() as undo:
        undo.callback(setattr, run, "settled", 0)
        for block in dict.fromkeys(encoder.layers) if first else ():
            stand_in(block, _block_forward(encoder, run, kept, block.forward), undo)
        if attention and first < len(kept) and encoder.family.attention_ends_at_heads and not run.wants_maps:
            module = encoder.parts(encoder.layers[first])[0]
            stand_in(module, _attention_forward(run, kept[first], first, module.forward), undo)
        yield


def stand_in(module: nn.Module, forward: Callable[..., Any], undo: ExitStack) -> None:
    """Give one module another forward, and back what it had: its class's, or one that somebody set on it."""
    if "forward" in vars(module):
        undo.callback(setattr, module, "forward", module.forward)
    else:
        undo.callback(delattr, module, "forward")
    module.forward = forward


def _block_forward(encoder: Encoder, run: Run, kept: Sequence[Kept], compute: Callable[..., Any]) -> Any:
    def forward(*args: Any, **kwargs: Any) -> Any:
        if run.layer >= run.settled:
            return compute(*args, **kwargs)
        output = kept[run.layer].output
        # Blocks of the hooked families return their attention beside their output.
        return (output, None) if encoder.family.hooked else output

    return forward


def _attention_forward(run: Run, kept: Kept, layer: int, compute: Callable[..., Any]) -> Any:
    def forward(*args: Any, **kwargs: Any) -> Any:
        if run.layer != layer:  # a block that serves several layers
            return compute(*args, **kwargs)
        run.value, run.mask = kept.value, kept.mask
        return kept.context, None

    return forward
