"""Architecture differences as data: where each family keeps its layers, its attention and its MLPs.

A new family is a row here. Paths are attribute paths: `layers` from the base model, the others from one layer.
"""

from __future__ import annotations

from dataclasses import dataclass

from bertscope.core.errors import UserError, did_you_mean


@dataclass(frozen=True)
class Family:
    layers: str
    """The list of blocks."""
    attention: str
    """The module that calls transformers' attention interface."""
    projection: str
    """The linear map that takes the heads' concatenated outputs back to the hidden size."""
    mlp_out: str
    """The linear map whose output, bias included, is the MLP's output before residual and LayerNorm."""


FAMILIES = {
    "bert": Family(
        layers="encoder.layer",
        attention="attention.self",
        projection="attention.output.dense",
        mlp_out="output.dense",
    ),
}


def family_of(model_type: str) -> Family:
    """The row of that `model_type` (as config.json names it); unknown ones are refused."""
    if model_type not in FAMILIES:
        raise UserError(f"models of type {model_type!r} are not supported; {did_you_mean(model_type, FAMILIES)}")
    return FAMILIES[model_type]
