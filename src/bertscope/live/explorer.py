"""The engine of `explore`: a reading, one checkpoint or two, parts to switch off or exchange, and what follows.

Whatever is asked wrongly is a `UserError`. It does one thing at a time: whoever serves many lets them wait.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bertscope
from bertscope.core.attention_maps import AttentionMaps
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.model_record import by_key
from bertscope.core.store import Store
from bertscope.data.corpus import read_data
from bertscope.data.task import Task
from bertscope.live import about, explaining, packing, patching
from bertscope.live.as_python import Given, as_python
from bertscope.live.changes import Parts, parts_of
from bertscope.live.checkpoints import Side, open_sides, why_apart, why_no_graft
from bertscope.live.data_rows import DataRows
from bertscope.live.messages import (
    About,
    AskHead,
    AskRows,
    Card,
    Change,
    Compare,
    Compared,
    Explain,
    Explained,
    Look,
    LookAt,
    Moved,
    Patch,
    Patched,
    Rows,
    Seen,
)
from bertscope.live.passes import Passes, Shown, key_of
from bertscope.live.recent import Recent
from bertscope.live.store_facts import StoreFacts
from bertscope.models.load import open_model

_ANSWERS = 200
"""Explanations and patches that are kept, each."""


class Explorer:
    """Made by `open`. What it holds of one asking another finds again: passes are kept by what was read."""

    def __init__(self, sides: list[Side], data: Task | Examples | None, store: Store | None, given: Given) -> None:
        self._sides, self._given = sides, given
        self._no_graft = why_no_graft(sides)
        self._comparable = len(sides) > 1 and not why_apart(*(side.encoder for side in sides))
        self._limits = about.limits(sides)
        self._modes = about.modes(sides)
        self._passes = Passes(sides, self._limits)
        self._explained = Recent[Explained](_ANSWERS)
        self._patched = Recent[Patched](_ANSWERS)
        self._rows = DataRows(sides, data)
        self._facts = StoreFacts(sides, store)
        self._about: About | None = None

    @classmethod
    def open(
        cls,
        model: Any,
        base: Any = None,
        data: Any = None,
        *,
        store: str | Path | Store | None = None,
        tokenizer: Any = None,
        **reading: Any,
    ) -> Explorer:
        """What there is to look at.

        model, base   anything that `load` opens, or an Encoder
        data          a task or texts: whatever questions take; `reading` says how it is read
        store         what is known of the checkpoints
        tokenizer     of transformers models that don't say where theirs is
        """
        one = open_model(model, tokenizer=tokenizer)
        other = None if base is None else open_model(base, tokenizer=tokenizer)
        read = data if data is None or isinstance(data, Task | Examples) else read_data(data, **reading)
        known = Store(store) if isinstance(store, str | Path) else store
        return cls(open_sides(one, other, read), read, known, Given(model, base, data, reading))

    def about(self) -> About:
        """What it has, for whoever opens the page."""
        if self._about is None:
            self._about = about.about(
                self._sides, self._rows, self._facts, self._limits, self._modes, self._no_graft, bertscope.__version__
            )
        return self._about

    def rows(self, asked: AskRows) -> Rows:
        return self._rows.found(asked)

    def look(self, asked: LookAt) -> Look:
        """What each checkpoint says, and where its heads look."""
        began = time.perf_counter()
        shown = self._shown(asked)
        seen = [
            Seen(
                tokens=each.after.typed.shown,
                before=each.before.answer.prediction if each.before.answer else None,
                after=each.after.answer.prediction if each.after.answer else None,
                maps=each.packed if asked.maps else None,
                notes=self._notes(each) if asked.maps else [],
            )
            for each in shown
        ]
        return Look(seen, self._change(shown) if asked.maps else [], 1000 * (time.perf_counter() - began))

    def explain(self, asked: Explain) -> Explained:
        """What each word did for what each checkpoint says."""
        every = self._parts(asked.changes)
        key = (key_of(asked.reading), *every, asked.method, asked.towards, asked.word)
        found = self._explained.get(key)
        if found is None:
            read = [self._passes.typed(side, asked.reading) for side in self._sides]
            found = explaining.explained(self._sides, read, every, asked)
            self._explained.put(key, found)
        return found

    def compare(self, asked: Compare) -> Compared:
        """The same changes on several readings."""
        if not asked.readings:
            raise UserError("there is nothing to compare; give a text")
        most = self._limits.compared
        if len(asked.readings) > most:
            raise UserError(f"{len(asked.readings)} texts are compared; give at most {most}")
        every = self._parts(asked.changes)
        moved = []
        for reading in asked.readings:
            shown = [self._passes.shown(place, reading, parts, maps=False) for place, parts in enumerate(every)]
            moved.append([_moved(each) for each in shown])
        return Compared(moved)

    def patch(self, asked: Patch) -> Patched:
        """Which part carries the difference between two texts."""
        side = self._side(asked.model)
        key = (key_of(asked.reading), key_of(asked.other), asked.model)
        found = self._patched.get(key)
        if found is None:
            one, other = (self._passes.typed(side, each) for each in (asked.reading, asked.other))
            found = patching.patched_parts(one, other)
            self._patched.put(key, found)
        return found

    def head(self, asked: AskHead) -> Card:
        """What the store knows of a head."""
        side = self._side(asked.model)
        counts = side.encoder.head_counts
        if not 1 <= asked.layer <= len(counts):
            raise UserError(f"layer {asked.layer}: {side.opened.name} has layers 1 to {len(counts)}")
        if not 1 <= asked.head <= counts[asked.layer - 1]:
            raise UserError(f"head {asked.head}: layer {asked.layer} has heads 1 to {counts[asked.layer - 1]}")
        return self._facts.card(asked)

    def python(self, asked: LookAt) -> str:
        """The lines of Python that give the same predictions."""
        every = self._parts(asked.changes)
        read = [self._passes.typed(side, asked.reading) for side in self._sides]
        return as_python(self._given, self._sides, read, every)

    def maps(self, asked: LookAt) -> AttentionMaps:
        """The exact maps with the changes."""
        shown = self._shown(LookAt(asked.reading, asked.changes))
        if any(each.after.maps is None for each in shown):
            raise UserError("; ".join(note for each in shown for note in self._notes(each)))
        first = shown[0].after.typed
        if not self._read_the_same(shown):
            shown = shown[:1]
        named = by_key(self._sides[: len(shown)])
        every = self._parts(asked.changes)
        return AttentionMaps(
            text=asked.reading.text,
            pair=asked.reading.pair,
            tokens=[token.text for token in first.shown],
            in_text=[token.side for token in first.shown],
            models={key: side.record for key, side in named.items()},
            of_models={key: [layer.copy() for layer in each.maps] for key, each in zip(named, shown, strict=True)},
            notes=[
                f"{side.opened.name}: {note}"
                for side, parts in zip(named.values(), every, strict=False) for note in parts.told
            ],
        )  # fmt: skip

    def _shown(self, asked: LookAt) -> list[Shown]:
        every = self._parts(asked.changes)
        return [self._passes.shown(place, asked.reading, parts, maps=asked.maps) for place, parts in enumerate(every)]

    def _parts(self, changes: Sequence[Change]) -> list[Parts]:
        if len(changes) > len(self._sides):
            count = "one checkpoint" if len(self._sides) == 1 else f"{len(self._sides)} checkpoints"
            raise UserError(f"{len(changes)} changes are given for {count}; give one for each at most")
        every = [*changes, *[Change()] * (len(self._sides) - len(changes))]
        return [
            parts_of(change, side, self._limits, self._modes, self._no_graft)
            for change, side in zip(every, self._sides, strict=True)
        ]

    def _side(self, place: int) -> Side:
        if not 0 <= place < len(self._sides):
            there = "is model 0 only" if len(self._sides) == 1 else "are models 0 and 1"
            raise UserError(f"there is no model {place}; there {there}")
        return self._sides[place]

    def _change(self, shown: Sequence[Shown]) -> list[list[float | None]]:
        if not self._comparable or not self._read_the_same(shown):
            return []
        if any(each.after.maps is None for each in shown):
            return []
        return packing.apart(*(each.maps for each in shown))

    def _read_the_same(self, shown: Sequence[Shown]) -> bool:
        """Whether all of them read the same tokens."""
        first, *others = (each.after.typed for each in shown)
        return all(one.shown == first.shown for one in others)

    def _notes(self, shown: Shown) -> list[str]:
        many = len(shown.after.typed.shown)
        if shown.after.maps is not None:
            return []
        return [f"maps are shown of at most {packing.MOST} tokens, and the text has {many}"]


def _moved(shown: Shown) -> Moved | None:
    before, after = shown.before.answer, shown.after.answer
    if before is None or after is None:
        return None
    return Moved(before.prediction, after.prediction, before.distance(after))
