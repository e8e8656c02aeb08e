"""A result as programs read it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from bertscope.core.model_record import ModelRecord, Origin


def as_json(record: Mapping[str, Any], id: str) -> dict[str, Any]:
    """What programs read of a result, from what `describe` gives of it: its numbers and models by key, the keys of
    its tables and figures, its notes and where it came from."""
    return {
        "id": id,
        **{name: record[name] for name in ("question", "version", "subject")},
        "models": [_model_json(key, ModelRecord.from_json(one)) for key, one in record["models"].items()],
        "numbers": [{name: _finite(value) for name, value in number.items()} for number in record["headline"]],
        "notes": record["notes"],
        "tables": list(record["tables"]),
        "figures": [figure["key"] for figure in record["figures"]],
        "provenance": record["provenance"],
    }


def _model_json(key: str, model: ModelRecord) -> dict[str, Any]:
    """A model by what tables and numbers call it (`key`), with what it was made from and on what it was trained."""
    origin = model.origin or Origin()
    return {
        "key": key,
        **{name: getattr(model, name) for name in ("id", "name", "source", "made", "task_head")},
        "base": {name: getattr(origin.base, name) for name in ("id", "name", "source")} if origin.base else None,
        "trained_on": asdict(origin.data) if origin.data else None,
        **{name: getattr(origin, name) for name in ("by", "seed", "init", "frozen", "removed")},
    }


def _finite(value: Any) -> Any:
    """JSON has no word for what isn't a number, or has no end."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
