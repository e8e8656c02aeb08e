"""What else one could do with a model: other sizes of it, and what needs no search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from bertscope.core.progress import progress
from bertscope.core.units import Unit
from bertscope.experiments.comparison import CUT, WHOLE, Contender
from bertscope.experiments.shrink.costs import block_parameters
from bertscope.experiments.shrink.question import shrink
from bertscope.models.masks import by_magnitude, held, zero_out

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.experiments.shrink.measure import Shrinking
    from bertscope.experiments.shrink.question import Target
    from bertscope.experiments.shrink.reaching import Reached

_SIZES = (1.25, 1.5, 2.0, 3.0, 4.0)
"""Into what the model's cost is divided."""
_CLOSE = 0.1  # as a share: such a size is the one that was asked for, or that it came to
_LAYERS = (1 / 6, 1 / 3, 1 / 2, 2 / 3, 5 / 6)
"""The shares of the layers that go, from the top."""
_WEIGHTS = (0.3, 0.5, 0.7, 0.9)
"""The shares of the blocks' weights that are set to 0, the smallest first."""


def alternatives(work: Shrinking, found: Reached) -> list[Contender]:
    """Models beside the one that was asked for, each trained as that one was."""
    contenders = []
    with progress(f"what else could be done with {work.encoder.name}", None) as bar:
        for one in chain(_other_sizes(work, found), _without_top_layers(work), _pruned(work), _trained_on(work)):
            contenders.append(one)
            bar.advance(1, made=_name(one))
    return contenders


def _other_sizes(work: Shrinking, found: Reached) -> Iterator[Contender]:
    """The same search, stopped earlier or carried on; each size once, and not the one that was asked for."""
    search = found.search
    whole, came_to = search.cost.of(work.encoder), search.rows[found.steps - 1]["cost"] if found.steps else search.now
    known = [came_to, *_asked_for(work.target, whole)]
    seen = set()
    for divisor in _SIZES:
        goal = whole / divisor
        if goal > search.least:
            search.to(goal)
        steps = next((step for step, row in enumerate(search.rows) if row["cost"] <= goal), None)
        if steps is None or steps in seen or any(abs(goal / cost - 1) < _CLOSE for cost in known):
            continue
        seen.add(steps)
        smaller = work.finished(search.ways[steps])
        left = block_parameters(*smaller.layers) / block_parameters(*work.encoder.layers)
        estimate = "" if search.cost.unit == "parameters" else f"an estimated {divisor:g}x"
        size = work.contender(f"{CUT}_{divisor:g}", smaller, CUT, f"cut to {estimate or f'{left:.1%}'}")
        yield replace(size, estimate=estimate)


def _asked_for(target: Target | None, whole: float) -> list[float]:
    """What the target would cost, if it is a cost: a model that is timed may have to go further to be as fast."""
    if target is None or target.kind == "points":
        return []
    return [whole * target.value if target.kind == "share" else whole / target.value]


def names_of(contenders: Sequence[Contender], times: pd.DataFrame, texts: int) -> dict[str, str]:
    """What people call each: sizes by the speed that they were measured at, not by what the search estimated."""
    speed = times[times["texts"] == texts].set_index("arm")["faster"]
    estimates = {each.name: each.estimate for each in contenders if each.estimate}
    sizes = {name: f"cut to {speed[name]:.2f}x" for name in estimates}
    if len(set(sizes.values())) < len(sizes):  # two that were equally fast stay apart
        sizes = {name: f"{measured} ({estimates[name]})" for name, measured in sizes.items()}
    return {each.name: _name(each) for each in contenders} | sizes


def _name(contender: Contender) -> str:
    return contender.called or shrink.words["arm"][contender.name]


def _without_top_layers(work: Shrinking) -> Iterator[Contender]:
    layers = work.encoder.n_layers
    for gone in sorted({round(share * layers) for share in _LAYERS} - {0, layers}):
        off = [Unit.at("layer", layer) for layer in range(layers - gone, layers)]
        name = f"without the top {gone} layers" if gone > 1 else "without the top layer"
        yield work.contender(f"without_top_{gone}", work.finished(off), "top_layers_removed", name)


def _pruned(work: Shrinking) -> Iterator[Contender]:
    """Single weights at 0, which makes nothing faster or smaller unless something skips zeros."""
    order = by_magnitude(work.encoder)
    for share in _WEIGHTS:
        kept = np.ones(len(order), bool)
        kept[order[: round(share * len(order))]] = False
        smaller = work.encoder.cut([])
        zero_out(smaller, kept)
        with held(smaller, kept) if work.config.retrain else nullcontext():
            if work.config.retrain:
                work.trained(smaller)
        name = f"{share:.0%} of weights pruned"
        contender = work.contender(f"pruned_{round(100 * share)}", smaller, "magnitude_pruning", name)
        yield replace(contender, parameters=contender.parameters - int((~kept).sum()))


def _trained_on(work: Shrinking) -> Iterator[Contender]:
    """The whole model with as much more training: what of a cut model's score is training alone?"""
    if work.config.retrain:
        yield work.contender("whole_trained_on", work.trained(work.encoder.cut([])), WHOLE)
