"""What parts that are switched off leave behind, as a validation set tells it, for each mode."""

from __future__ import annotations

from collections.abc import Sequence

from bertscope.core.examples import Examples
from bertscope.core.output import Output
from bertscope.core.units import Mode, Unit
from bertscope.models.encoder import Encoder
from bertscope.models.gates import Reference
from bertscope.models.means import Means
from bertscope.models.optimal import optimal_constants

References = Reference | Sequence[Means] | None
"""For all sets of parts that are switched off, or one for each; None where nothing is to be known."""


def reference_for(
    mode: Mode,
    encoder: Encoder,
    output: Output,
    validation: Examples,
    off: Sequence[Sequence[Unit]],
    *,
    seed: int = 0,
) -> References:
    """What `judge_without` needs for these sets; None where nothing is to be known beforehand."""
    match mode:
        case "mean":
            return encoder.means(validation, output)
        case "position":
            return encoder.means_by_place(validation, output)
        case "resample":
            return encoder.donors(validation, output, seed=seed)
        case "optimal":
            return optimal_constants(encoder, output, validation, off, seed=seed)
    return None


def alone(reference: References, off: Sequence[Sequence[Unit]]) -> Reference | None:
    """One reference for all parts: of several, each single part's own; the rest is the first's."""
    if not isinstance(reference, Sequence):
        return reference
    heads, mlps = reference[0].heads.clone(), reference[0].mlps.clone()
    for units, own in zip(off, reference, strict=True):
        if len(units) != 1:
            continue
        (unit,) = units
        if unit.kind == "head":
            heads[unit.layer_index, unit.index] = own.heads[unit.layer_index, unit.index]
        elif unit.kind == "mlp":
            mlps[unit.layer_index] = own.mlps[unit.layer_index]
    return Means(heads, mlps)
