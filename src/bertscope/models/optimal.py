"""The constants with which parts that are off are missed least (optimal ablation: Li & Janson 2024).

For each set of parts: those constants with which the model's outputs diverge least from the whole model's, on average
over validation rows. Minimising the loss instead would train a bias. The parts of a set have theirs together.

The descent (`optimal_descent.py`: Adam, in units of how much each number varies) begins at the means, or at zero
where that is nearer, and what it ends at is taken only where it is nearer still, else a part of the way: what is left
behind never does worse on these rows than `mean` and `zero`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed
from bertscope.core.output import Output
from bertscope.core.units import Unit
from bertscope.models.encoder import Encoder
from bertscope.models.judge import judge_without
from bertscope.models.means import Means
from bertscope.models.optimal_descent import descend
from bertscope.models.outputs.kinds import model_output

ROWS = 512
"""Validation examples that constants are fitted on, at most."""
STEPS = 40
"""Of the descent, each on 32 of these at most."""
_SHARES = (1.0, 0.25, 0.0625)
"""Of the way to where the descent ended: what is tried, until one is nearer than the start."""
_CONSTANT = ("head", "heads", "mlp")
"""Parts that leave a constant; a layer passes its input on, a neuron leaves nothing."""


def optimal_constants(
    encoder: Encoder,
    output: Output,
    validation: Examples,
    sets: Sequence[Sequence[Unit]],
    *,
    start: Means | Sequence[Means] | None = None,
    rows: int | None = None,
    steps: int | None = None,
    seed: int = 0,
) -> list[Means]:
    """For each set of parts, what its heads and MLPs leave best when all of it is off; the rest is as it was given.

    start   where to begin, for all sets or for each: by default the means on all of `validation`. Where sets grow,
            the constants of the next smaller one are a good start
    rows    on how many of the examples, chosen at random, divergences are compared: `ROWS`
    steps   of the descent: `STEPS`; 0 chooses between the start and zero
    """
    sets = [[unit.check(encoder.head_counts, encoder.neuron_counts) for unit in units] for units in sets]
    rows, steps = ROWS if rows is None else rows, STEPS if steps is None else steps
    if start is None:
        start = encoder.means(validation, output)
    begun = [start] * len(sets) if isinstance(start, Means) else list(start)
    if len(begun) != len(sets):
        raise UserError(f"there are {len(begun)} starts for {len(sets)} sets of parts; give one, or one for each")
    places = [at for at, units in enumerate(sets) if any(unit.kind in _CONSTANT for unit in units)]
    if not places:
        return begun
    sample = validation.take(np.sort(np.argsort(hashed(validation.ids, seed), kind="stable")[:rows]))
    wanted, first = [sets[at] for at in places], [begun[at] for at in places]
    nothing = [_zeroed(means, units) for means, units in zip(first, wanted, strict=True)]
    best, apart = _nearer(encoder, output, sample, wanted, first, nothing)
    if steps:
        fitted = descend(model_output(encoder, output), sample, wanted, best, steps, seed)
        best = _as_far_as_it_helps(encoder, output, sample, wanted, best, fitted, apart)
    for at, found in zip(places, best, strict=True):
        begun[at] = found
    return begun


def _as_far_as_it_helps(
    encoder: Encoder,
    output: Output,
    sample: Examples,
    sets: Sequence[Sequence[Unit]],
    start: Sequence[Means],
    fitted: Sequence[Means],
    apart: np.ndarray,
) -> list[Means]:
    """What was fitted; where it isn't nearer than the start, which is so far `apart`, a part of the way, or none."""
    found, left = list(start), list(range(len(sets)))
    for share in _SHARES:
        begun, tried = [start[at] for at in left], [_between(start[at], fitted[at], share) for at in left]
        nearer, now = _nearer(encoder, output, sample, [sets[at] for at in left], begun, tried, apart[left])
        for at, constants in zip(left, nearer, strict=True):
            found[at] = constants
        left = [at for at, least in zip(left, now, strict=True) if least == apart[at]]
        if not left:
            break
    return found


def _between(one: Means, other: Means, share: float) -> Means:
    """So far on the way from one to the other."""
    return Means(torch.lerp(one.heads, other.heads, share), torch.lerp(one.mlps, other.mlps, share))


def _nearer(
    encoder: Encoder,
    output: Output,
    sample: Examples,
    sets: Sequence[Sequence[Unit]],
    one: Sequence[Means],
    other: Sequence[Means],
    at_one: np.ndarray | None = None,
) -> tuple[list[Means], np.ndarray]:
    """Of each set's two constants those with which the model diverges less, and how much it does then."""

    def divergence(constants: Sequence[Means]) -> np.ndarray:
        told = [constants[0], *constants]
        found = judge_without(encoder, output, sample, [[], *sets], mode="optimal", reference=told)
        return found.divergence[1:].mean(1)

    before, after = divergence(one) if at_one is None else at_one, divergence(other)
    better = after < before
    return [b if take else a for a, b, take in zip(one, other, better, strict=True)], np.minimum(before, after)


def _zeroed(means: Means, units: Sequence[Unit]) -> Means:
    """The same with 0 in the place of these parts."""
    heads, mlps = means.heads.clone(), means.mlps.clone()
    for unit in units:
        if unit.kind == "head":
            heads[unit.layer_index, unit.index] = 0
        elif unit.kind == "heads":
            heads[unit.layer_index] = 0
        elif unit.kind == "mlp":
            mlps[unit.layer_index] = 0
    return Means(heads, mlps)
