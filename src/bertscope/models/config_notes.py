"""What this package notes about a model inside the model's own config, under `bertscope`, where it survives every way
of saving: its name, where it came from, what was cut, what is on top."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from bertscope.core.model_record import DataRecord, ModelRecord, Origin

PARSER = "parser"
"""Where it is noted what parser is on top."""
_TASK_HEAD = (PARSER, "top")


def notes_in(config: Any) -> dict[str, Any]:
    """All that is noted in a config: the library's object, or what its file holds."""
    notes = config.get("bertscope") if isinstance(config, dict) else getattr(config, "bertscope", None)
    return notes or {}


def encoder_notes_in(config: Any) -> dict[str, Any]:
    """What is noted of the encoder, and not of what is on top of it."""
    return {key: value for key, value in notes_in(config).items() if key not in _TASK_HEAD}


def origin_in(config: Any) -> Origin | None:
    """How the model was made, as its maker noted it; None where nobody did. Of models that were fine-tuned before
    there were such notes, only on what is known."""
    noted = notes_in(config).get("origin")
    if noted is None and (learned := notes_in(config).get("tuned_on")):
        return Origin("finetune", data=DataRecord(learned, ""))
    return ModelRecord.from_json({"id": "", "name": "", "origin": noted}).origin


def origin_note(origin: Origin | None) -> dict[str, Any]:
    """The note of it. Where a base lay, and when it was written, is none of what was made of it: the same training in
    another store makes the same model."""
    if origin and origin.base and origin.base.id:
        origin = replace(origin, base=origin.base.wherever())
    return {"origin": asdict(origin) if origin else None}
