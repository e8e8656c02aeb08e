"""What is different in a checkpoint: parts that are off, and parts from the other one, for the length of a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import get_args

from bertscope.core.errors import UserError
from bertscope.core.units import Unit
from bertscope.live.checkpoints import Side, lent_by
from bertscope.live.messages import Change, Limits, Off
from bertscope.models.grafting import Place, Weights
from bertscope.models.replay import TemporaryChange, switched_off

EMBEDDINGS = "embeddings"
_GRAFTED = ("head", "heads", "mlp", "layer")


@dataclass(frozen=True)
class Parts:
    """A change whose parts exist: two that are the same are equal."""

    off: frozenset[Unit]
    mode: Off
    graft: frozenset[Unit | str]

    @property
    def is_none(self) -> bool:
        return not self.off and not self.graft

    @property
    def told(self) -> list[str]:
        """What is different, in words."""
        off, graft = (", ".join(sorted(map(str, each))) for each in (self.off, self.graft))
        return [*([f"off ({self.mode}): {off}"] if off else []),
                *([f"from the other checkpoint: {graft}"] if graft else [])]  # fmt: skip


def parts_of(change: Change, side: Side, limits: Limits, modes: Sequence[Off], no_graft: str) -> Parts:
    """Refuses, with what there is, parts that the checkpoint hasn't got, and what can't be done to them."""
    encoder = side.encoder
    if (count := len(change.off) + len(change.graft)) > limits.parts:
        raise UserError(f"{count:,} parts are changed at once; give at most {limits.parts:,}")
    if change.mode not in get_args(Off):
        raise UserError(f"unknown mode {change.mode!r}; known: {', '.join(get_args(Off))}")
    if change.off and change.mode not in modes:
        why = "needs a task to take the means from" if change.mode == "mean" else "means nothing for this model"
        raise UserError(f"mode {change.mode} {why}; use {' or '.join(modes)}")
    if change.graft and no_graft:
        raise UserError(f"no part can be taken from the other checkpoint: {no_graft}")
    off = [unit.check(encoder.head_counts, encoder.neuron_counts) for unit in Unit.parse_all(change.off)]
    return Parts(
        frozenset(off), change.mode if off else "zero", frozenset(_grafted(part, side) for part in change.graft)
    )


def _grafted(part: str, side: Side) -> Unit | str:
    if part == EMBEDDINGS:
        return part
    unit = Unit.parse(part)
    if unit.kind not in _GRAFTED:
        raise UserError(
            f"{part}: a {unit.kind} can't be taken from the other checkpoint; give a head, heads, an mlp, \
a layer or {EMBEDDINGS}"
        )
    return unit.check(side.encoder.head_counts)


@contextmanager
def changed(side: Side, other: Side | None, parts: Parts) -> Iterator[list[TemporaryChange]]:
    """The changes, whose blocks are still to be entered: a replay has to know the lowest layer that they touch."""
    with ExitStack() as opened:
        found = list[TemporaryChange]()
        if parts.off:
            reference = side.means if parts.mode == "mean" else None
            off = switched_off(side.encoder, [sorted(parts.off)], mode=parts.mode, reference=reference)
            found += opened.enter_context(off)
        if parts.graft:
            assert other is not None
            places = [place for part in sorted(parts.graft, key=str) for place in places_of(side.weights, part)]
            found.append(side.weights.lent(places, lent_by(other)))
        yield found


def places_of(weights: Weights, part: Unit | str) -> list[Place]:
    """The weights that a part is made of."""
    if part == EMBEDDINGS:
        return weights.of(outside=EMBEDDINGS)
    part = Unit.parse(part)
    if part.kind == "head":
        return weights.of_head(part)
    if part.kind == "layer":
        return weights.of(layers=[part.layer_index])
    return weights.of_layer(part.layer_index, "attention" if part.kind == "heads" else "mlp")


@contextmanager
def all_of(changes: Sequence[TemporaryChange]) -> Iterator[None]:
    """The block in which all of them hold."""
    with ExitStack() as opened:
        for change in changes:
            opened.enter_context(change.block())
        yield


def lowest(changes: Sequence[TemporaryChange]) -> tuple[int, bool]:
    """The first layer that changes, 0-based, and whether its attention stays as it was."""
    first = min(change.first for change in changes)
    return first, all(change.keeps_attention for change in changes if change.first == first)
