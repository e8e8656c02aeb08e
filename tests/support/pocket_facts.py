"""What pocket's own files say of it, for tests that need as large a vocabulary, or a text that is too long for it."""

from __future__ import annotations

import json

from bertscope.models.source import POCKET

_CONFIG = json.loads((POCKET / "config.json").read_text(encoding="utf-8"))

PIECES: int = _CONFIG["vocab_size"]
POSITIONS: int = _CONFIG["max_position_embeddings"]


def pieces() -> set[str]:
    """All that its vocabulary holds."""
    stored = json.loads((POCKET / "tokenizer.json").read_text(encoding="utf-8"))
    return set(stored["model"]["vocab"])
