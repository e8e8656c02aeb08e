"""What seqeval 1.2.2 says of 500 random and ill-formed sequences, kept for those who haven't installed it.

seqeval is published as source alone, and `make` installs nothing that would have to be built. To write
tests/fixtures/seqeval.json anew:

    .venv/bin/pip install --no-deps --target /tmp/oracles seqeval==1.2.2
    PYTHONPATH=/tmp/oracles .venv/bin/python tests/support/frozen_seqeval.py
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from tag_sequences import TAGS, tag_sequences

FIXTURE = Path(__file__).parents[1] / "fixtures" / "seqeval.json"
SEEDS = range(500)
TYPES = ("LOC", "PER", "creative-work")
assert set(TYPES) == {tag[2:] for tag in TAGS if tag != "O"}


def by_seqeval(seed: int, strict: bool) -> list[float]:
    """Micro precision, recall and F1, then F1 of each of `TYPES`; 0 of what there is no entity of, as everywhere with
    `zero_division=0`, also where there is none at all, over which seqeval fails."""
    how: dict[str, Any] = {"mode": "strict", "scheme": import_module("seqeval.scheme").IOB2} if strict else {}
    try:
        said = import_module("seqeval.metrics").classification_report(
            *tag_sequences(seed), output_dict=True, zero_division=0, **how
        )
    except ValueError:
        return [0.0] * (3 + len(TYPES))
    micro = [said["micro avg"][name] for name in ("precision", "recall", "f1-score")]
    each = [said[name]["f1-score"] if name in said else 0 for name in TYPES]
    return [round(float(one), 6) for one in (*micro, *each)]


def frozen() -> dict[str, list[list[float]]]:
    return json.loads(FIXTURE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    rows = {mode: [by_seqeval(seed, mode == "strict") for seed in SEEDS] for mode in ("lenient", "strict")}
    listed = (f'"{mode}": [\n' + ",\n".join(map(json.dumps, each)) + "\n]" for mode, each in rows.items())
    FIXTURE.write_text("{\n" + ",\n".join(listed) + "\n}\n", encoding="utf-8")
