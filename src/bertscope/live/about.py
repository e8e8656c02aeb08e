"""What there is to explore: the checkpoints, the data, what the store knows, and what is allowed."""

from __future__ import annotations

from collections.abc import Sequence

from bertscope.analyses.shapes import CLASSES
from bertscope.live.checkpoints import Side
from bertscope.live.data_rows import DataRows
from bertscope.live.messages import About, Checkpoint, Limits, Off, Reading
from bertscope.live.store_facts import StoreFacts
from bertscope.report.theme import palettes

_LETTERS, _TOKENS, _PARTS, _COMPARED = 8000, 512, 1000, 10
_WORDS = {
    "classification": "one label",
    "one_logit": "one of two labels, by one output",
    "several": "any number of labels",
    "regression": "a score",
    "vectors": "how alike two texts are",
    "choices": "one of several candidates",
    "spans": "an answer in a text",
    "tokens": "a tag for each word",
    "trees": "a dependency tree",
    "masked": "masked words",
}
"""Kinds of outputs, for people."""
_SHOWN = {
    "masked": Reading("The old man opened the [MASK] and looked out."),
    "spans": Reading("Where did she put the key?", "She put the key under the stone and went away."),
    "choices": Reading("She opened the door and", choices=["went out.", "the stone was green."]),
    "vectors": Reading("The man plays a guitar.", "Somebody plays music."),
}
"""What is shown first where there is no data."""
_ANY = Reading("The film was long, but I liked it.")


def limits(sides: Sequence[Side]) -> Limits:
    return Limits(_LETTERS, min([_TOKENS, *(side.encoder.max_length for side in sides)]), _PARTS, _COMPARED)


def modes(sides: Sequence[Side]) -> list[Off]:
    """Ways to switch parts off that mean something here."""
    rotated = any(getattr(side.encoder.model.config, "rotary_value", False) for side in sides)
    return [
        "zero",
        *(["uniform"] if not rotated else []),  # type: ignore[list-item]
        *(["mean"] if all(side.task is not None for side in sides) else []),  # type: ignore[list-item]
    ]


def about(
    sides: Sequence[Side],
    rows: DataRows,
    facts: StoreFacts,
    allowed: Limits,
    ways: list[Off],
    no_graft: str,
    version: str,
) -> About:
    usual = sides[0].usual
    kind = usual.kind if usual is not None else ""
    pair = rows.pairs or kind in ("spans", "vectors")
    first = "First text" if pair else "Sentence"
    return About(
        version=version,
        checkpoints=[_checkpoint(side) for side in sides],
        pair=pair,
        called=["Question", "Text that it is asked of"] if kind == "spans" else [first, "Second text"],
        choices=kind == "choices",
        modes=ways,
        graft=no_graft,
        data=rows.told,
        rows=len(rows),
        example=(rows.example() if kind != "masked" else None) or _SHOWN.get(kind, _ANY),
        colourings=facts.colourings,
        presets=facts.presets,
        patterns=list(CLASSES),
        palettes=palettes(),
        limits=allowed,
    )


def _checkpoint(side: Side) -> Checkpoint:
    usual = side.usual
    return Checkpoint(
        name=side.opened.name,
        id=side.record.id,
        shape=list(side.encoder.head_counts),
        predicts=_WORDS[usual.kind] if usual is not None else "",
        labels=list(usual.names) if usual is not None else [],
        notes=[*side.opened.opening_notes, *side.notes],
    )
