"""Attention maps as numbers, for whoever wants to have what the page shows."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields

from bertscope.core.attention_maps import AttentionMaps


@dataclass(frozen=True)
class MapsOf:
    """The attention of one checkpoint, as numbers."""

    name: str
    id: str
    layers: list[list[list[list[float]]]]
    """[layer][head][query][key], to six digits behind the point."""


@dataclass(frozen=True)
class SavedMaps:
    """What is saved of the maps that are seen."""

    text: str
    pair: str | None
    tokens: list[str]
    in_text: list[int]
    """Of each token: 0 in the first text, 1 in the second, -1 where the tokenizer added it."""
    models: list[MapsOf]
    notes: list[str]


def saved(maps: AttentionMaps) -> bytes:
    """As JSON."""
    layers = {
        key: [heads.astype(float).round(6).tolist() for heads in of_model] for key, of_model in maps.of_models.items()
    }
    whole = SavedMaps(
        maps.text, maps.pair, maps.tokens, maps.in_text,
        [MapsOf(name, key, layers[key]) for key, name in maps.names.items()], maps.notes,
    )  # fmt: skip
    plain = {one.name: getattr(whole, one.name) for one in fields(whole)}  # `asdict` would copy every number
    return json.dumps(plain, default=vars).encode()
