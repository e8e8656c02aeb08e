"""Configs are frozen dataclasses; here they become JSON and come back, with unknown keys refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar

from bertscope.core.errors import UserError, did_you_mean

Config = TypeVar("Config")


def to_json(config: Any) -> dict[str, Any]:
    """Every field with its value, defaults included: a changed default is a changed identity."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(config).items()}


def from_json(config_class: type[Config], data: Mapping[str, Any]) -> Config:
    """The config those keys describe. A key it doesn't have is the user's mistake, with a suggestion."""
    known = [field.name for field in fields(config_class)]  # type: ignore[arg-type]
    for key in data:
        if key not in known:
            raise UserError(f"unknown setting {key!r}; {did_you_mean(key, known)}")
    return config_class(**{k: tuple(v) if isinstance(v, list) else v for k, v in data.items()})
