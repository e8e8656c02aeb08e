"""From a target to the parts that go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertscope.core.errors import UserError
from bertscope.core.units import Unit
from bertscope.experiments.comparison import texts_at_a_time
from bertscope.experiments.shrink.choice import TIE
from bertscope.experiments.shrink.costs import Cost, latency_cost, parameter_cost
from bertscope.experiments.shrink.search import Search
from bertscope.models.latency import in_torch, time_in_turn

if TYPE_CHECKING:
    from bertscope.experiments.shrink.measure import Shrinking
    from bertscope.experiments.shrink.question import Target
    from bertscope.models.encoder import Encoder

_TRIES = 5  # to be as fast as was asked: what a cut model costs is an estimate until it is timed


@dataclass(frozen=True)
class Reached:
    """What goes, in the whole model's numbers; and the search that found it, some steps of which led there."""

    off: frozenset[Unit]
    search: Search
    steps: int


def reach(work: Shrinking, target: Target | None) -> Reached:
    """The parts that go so that the model is what the target says; without one, those that were pruned already."""
    cost = cost_of(work, target)
    search = Search(
        work.encoder, work.task, work.rows, cost,
        step=work.config.step, plain=work.config.shape == "plain", off=work.pruned,
    )  # fmt: skip
    if target is None:
        return Reached(frozenset(search.off), search, 0)
    if target.kind == "points":
        return _good_enough(work, search, target)
    whole = cost.of(work.encoder)
    _refuse_impossible(work, search, target, search.least / whole)
    if target.kind == "share":
        search.to(target.value * whole)
    else:
        search.to(max(search.least, whole / (TIE * target.value)))
        _until_fast_enough(work, search, target)
    return Reached(frozenset(search.off), search, len(search.rows))


def cost_of(work: Shrinking, target: Target | None) -> Cost:
    """What the target counts: parameters, or else time."""
    if target is not None and target.kind == "share":
        return parameter_cost(work.encoder)
    return latency_cost(work.timed(work.encoder), work.batches[work.config.batch], work.task.output)


def _refuse_impossible(work: Shrinking, search: Search, target: Target, least: float) -> None:
    """Refuse a target that the smallest model doesn't reach, which costs `least`, as a share of the whole one."""
    if least <= (target.value if target.kind == "share" else 1 / target.value):
        return
    smallest = "one layer with one neuron" if search.plain else "one layer with one head and no MLP"
    here = f"about {1 / least:.3g}x as fast on this machine, {texts_at_a_time(work.config.batch)}"
    reached = f"{100 * least:.3g}% of its blocks" if target.kind == "share" else here
    raise UserError(f"{target} can't be reached: {work.encoder.name} cut to {smallest} is {reached}; ask for less")


def _until_fast_enough(work: Shrinking, search: Search, target: Target) -> None:
    """Cut on until the model is measured to be as fast as it shall be."""
    for tries in range(1, _TRIES + 1):
        measured = _times_as_fast(work, search.encoder)
        if measured >= TIE * target.value:
            return
        if tries < _TRIES:
            _refuse_impossible(work, search, target, search.least / search.now / measured)
            search.to(max(search.least, search.now * measured / (TIE * target.value)))
    if measured < target.value:
        work.notes.append(f"after {_TRIES} attempts it was measured to be {measured:.2f}x as fast, not {target}")


def _times_as_fast(work: Shrinking, encoder: Encoder) -> float:
    """How many times as fast as the whole model this one is measured to be."""
    models = {"whole": work.timed(work.encoder), "cut": work.timed(encoder)}
    variants = {name: in_torch(one, work.task.output) for name, one in models.items()}
    times = time_in_turn(variants, work.batches[work.config.batch])
    return times.faster("cut", "whole")[0]


def _good_enough(work: Shrinking, search: Search, target: Target) -> Reached:
    """The furthest step of the search after which the validation set's score is still high enough, found by halving.

    If what is left is trained again, so is each that is tried.
    """

    def keeps(off: frozenset[Unit]) -> bool:
        return work.validation_score(work.finished(off)).value >= work.score.value - target.value

    start = frozenset(search.off)  # what was pruned before
    while search.advance():
        pass
    ways = [start, *search.ways]
    passes, fails = 0, len(ways)  # steps
    while fails - passes > 1:
        steps = (passes + fails) // 2
        passes, fails = (steps, fails) if keeps(ways[steps]) else (passes, steps)
    if not passes and not (start and keeps(start)):
        what = "what was pruned" if start else f"cutting {work.config.step:.0%} of {work.encoder.name}'s time"
        mend = "leave out --pruned" if start else "cut in smaller steps with --step"
        raise UserError(
            f"{target} can't be reached: {what} costs more than that on the validation set; allow more, or {mend}"
        )
    return Reached(ways[passes], search, passes)
