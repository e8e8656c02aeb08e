"""From a target to the parts that go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertscope.core.errors import UserError
from bertscope.core.units import Unit
from bertscope.experiments.costs import Cost, latency_cost, parameter_cost
from bertscope.experiments.search import Search
from bertscope.models.latency import in_torch, time_in_turn

if TYPE_CHECKING:
    from bertscope.experiments.shrinking import Shrinking
    from bertscope.experiments.targets import Target

_TRIES = 5  # to be as fast as was asked: what a cut model costs is an estimate until it is timed
_MORE = 1.02  # as fast as that times what was asked: no two measurements agree to the last percent


@dataclass(frozen=True)
class Found:
    """What goes, in the whole model's numbers; and the search that found it, some steps of which led there."""

    off: frozenset[Unit]
    search: Search
    steps: int


def reach(work: Shrinking, target: Target | None) -> Found:
    """The parts that go so that the model is what the target says; without one, those that were pruned already."""
    cost = cost_of(work, target)
    search = Search(
        work.encoder, work.task, work.rows, cost,
        step=work.config.step, plain=work.config.shape == "plain", off=work.pruned,
    )  # fmt: skip
    if target is None:
        return Found(frozenset(search.off), search, 0)
    if target.kind == "points":
        return _good_enough(work, search, target)
    share = target.value if target.kind == "share" else 1 / (_MORE * target.value)
    _refuse_impossible(work, search, target, share)
    search.to(share * cost.of(work.encoder))
    if target.kind == "times":
        _until_fast_enough(work, search, target)
    return Found(frozenset(search.off), search, len(search.rows))


def cost_of(work: Shrinking, target: Target | None) -> Cost:
    """What the target counts: parameters, or else time."""
    if target is not None and target.kind == "share":
        return parameter_cost(work.encoder)
    return latency_cost(work.timed(work.encoder), work.batches[work.config.batch])


def _refuse_impossible(work: Shrinking, search: Search, target: Target, share: float) -> None:
    whole, least = search.cost.of(work.encoder), search.least
    if share * whole >= least:
        return
    smallest = "one layer with one neuron" if search.plain else "one layer with one head and no MLP"
    here = f"{whole / least:.1f}x as fast on this machine, {work.config.batch} texts at a time"
    reached = f"{least / whole:.1%} of its blocks" if target.kind == "share" else here
    raise UserError(f"{target} can't be reached: {work.encoder.name} cut to {smallest} is {reached}; ask for less")


def _until_fast_enough(work: Shrinking, search: Search, target: Target) -> None:
    """Cut on until the model is measured to be as fast as it shall be."""
    for _ in range(_TRIES):
        models = {"whole": work.timed(work.encoder), "cut": work.timed(search.encoder)}
        times = time_in_turn({name: in_torch(one) for name, one in models.items()}, work.batches[work.config.batch])
        measured, *_ = times.faster("cut", "whole")
        if measured >= _MORE * target.value:
            return
        goal = search.now * measured / (_MORE * target.value)
        _refuse_impossible(work, search, target, goal / search.cost.of(work.encoder))
        search.to(goal)
    work.notes.append(f"after {_TRIES} attempts it was measured to be {measured:.2f}x as fast, not {target}")


def _good_enough(work: Shrinking, search: Search, target: Target) -> Found:
    """The furthest step of the search after which the select split's score is still high enough, found by halving.

    If what is left is trained again, so is each that is tried.
    """
    while search.advance():
        pass
    passes, fails = 0, len(search.ways) + 1  # steps
    while fails - passes > 1:
        steps = (passes + fails) // 2
        score = work.select_score(work.finished(search.ways[steps - 1]))
        passes, fails = (steps, fails) if score.value >= work.score.value - target.value else (passes, steps)
    if not passes:
        raise UserError(
            f"{target} can't be reached: cutting {work.config.step:.0%} of {work.encoder.name}'s time costs more "
            "than that on the select split; allow more, or cut in smaller steps with --step"
        )
    return Found(search.ways[passes - 1], search, passes)
