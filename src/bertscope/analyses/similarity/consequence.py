"""What follows from `similarity`: how far fine-tuning moved each layer's representation."""

from __future__ import annotations

from bertscope.core.consequence import Consequence
from bertscope.core.result import Result
from bertscope.core.small_picture import Line

_SAME = 0.9
"""A correlation from which on it is nearly the same."""


def consequences(result: Result) -> list[Consequence]:
    if "other_layer" not in result.tables["layers"] or not result.numbers(key="lowest_rsa_layer"):
        return []
    layers = result.tables["layers"]
    rsa = layers[(layers["measure"] == "rsa") & (layers["layer"] == layers["other_layer"])]
    rsa = rsa[rsa["corpus"] == rsa["corpus"].iloc[0]] if len(rsa) else rsa
    if rsa.empty:
        return []
    least = rsa.loc[rsa["value"].idxmin()]
    kept = rsa[rsa["value"] >= _SAME]
    upto = f" Up to layer {kept['layer'].max()}, layers see texts nearly as before." if len(kept) else ""
    text = (
        f"Layer {least['layer']} changed most in how it sees texts (what is near to what correlates with before at "
        f"{least['value']:.2f}; 1 is unchanged).{upto}"
    )
    return [Consequence("changed", text, 0.4, "layers", Line.of(rsa, "layer", "value", marked=float(least["layer"])))]
