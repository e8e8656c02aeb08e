"""What this package notes about a model inside the model's own config, under `bertscope`, where it survives every way
of saving: its name, what was cut, what it was fine-tuned on, what is on top."""

from __future__ import annotations

from typing import Any

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
