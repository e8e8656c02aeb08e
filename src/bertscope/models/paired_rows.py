"""Two texts that differ in some tokens, side by side: the rows that a model reads them as, and each token's role.

Indices don't compare across pairs, roles do: the tokens that differ, those before and after them, [CLS], [SEP], and
masks. Pairs whose texts don't have their tokens at the same places are left out, and counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.models.outputs.base import ModelOutput, RowBatch, Rows

Role = Literal["changed", "before", "after", "cls", "sep", "mask"]
ROLES: tuple[Role, ...] = get_args(Role)
Side = Literal["clean", "corrupted"]
SIDES: tuple[Side, ...] = get_args(Side)
ROLE = "role"
"""The mark that says a token's role: its place among `ROLES`, from 1; 0 of what has none."""


@dataclass(frozen=True, eq=False)
class PairedRows:
    """Pairs of texts as a model reads them, row for row and token for token."""

    asked: ModelOutput
    rows: Mapping[Side, Rows]
    """Of as many rows and tokens each; the rows have their tokens' roles as a mark."""
    pairs: np.ndarray
    """[pair]: the positions of those that are here among all that were given."""
    dropped: Mapping[str, int]
    """How many weren't taken, and why: `unequal`, `long`, `no_mask`, `same`."""

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def starts(self) -> np.ndarray:
        """[1 + pair]: where the rows of each pair begin, and the end."""
        return np.searchsorted(self.rows["clean"].example, np.arange(len(self) + 1))

    @cached_property
    def longest(self) -> np.ndarray:
        """[pair]: the tokens of its longest row."""
        if not len(self):
            return np.zeros(0, dtype=np.int64)
        return np.maximum.reduceat(self.rows["clean"].tokens.lengths, self.starts[:-1])

    @property
    def roles(self) -> np.ndarray:
        """[token]: as the mark."""
        return self.rows["clean"].marks[ROLE]

    @cached_property
    def having(self) -> np.ndarray:
        """[pair, role]: whether a pair has tokens of the role."""
        found = np.zeros((len(self), 1 + len(ROLES)), dtype=bool)
        found[_owner(self.rows["clean"]), self.roles] = True
        return found[:, 1:]

    @property
    def roles_there(self) -> list[Role]:
        """Those that any pair has tokens of."""
        return [role for place, role in enumerate(ROLES) if self.having[:, place].any()]

    def batch(self, side: Side, pairs: np.ndarray) -> RowBatch:
        """The texts of one side of these pairs, which may be there several times."""
        return self.asked.batch(self.rows[side], self.starts, pairs)

    def take(self, pairs: np.ndarray, dropped: Mapping[str, int] | None = None) -> PairedRows:
        """Some of the pairs, and why the others weren't taken."""
        rows = {side: _taken(one, pairs) for side, one in self.rows.items()}
        return PairedRows(self.asked, rows, self.pairs[pairs], {**self.dropped, **(dropped or {})})

    @cached_property
    def layouts(self) -> list[bytes]:
        """[pair]: what two pairs share whose tokens, special ones included, stand at the same places."""
        tokens = self.rows["clean"].tokens
        marks = np.where(tokens.special, tokens.fields["input_ids"] + 1, 0)
        rows = np.split(marks, tokens.starts[1:]) if len(tokens) else []
        return [
            b"|".join(row.tobytes() for row in rows[begin:end])
            for begin, end in zip(self.starts[:-1], self.starts[1:], strict=True)
        ]


def paired_rows(asked: ModelOutput, clean: Examples, corrupted: Examples) -> PairedRows:
    """The pairs that have their tokens at the same places."""
    if asked.no_contrast:
        raise UserError(
            f"{asked.encoder.name} can't be patched, because {asked.no_contrast}; give a model that answers otherwise"
        )
    if len(clean) != len(corrupted):
        raise UserError(
            f"{len(clean)} clean texts and {len(corrupted)} corrupted ones; give as many of both, pair by pair"
        )
    sides = {"clean": asked.rows(clean), "corrupted": asked.rows(corrupted)}
    pairs, dropped = np.arange(len(clean)), dict.fromkeys(("long", "unequal", "no_mask"), 0)

    def keep(why: str, bad: np.ndarray) -> None:
        nonlocal pairs, sides
        dropped[why] += int(bad.sum())
        kept = np.flatnonzero(~bad)
        pairs, sides = pairs[kept], {side: _taken(rows, kept) for side, rows in sides.items()}

    keep("long", sides["clean"].truncated | sides["corrupted"].truncated)
    counts = [np.bincount(rows.example, minlength=len(pairs)) for rows in sides.values()]
    keep("unequal", counts[0] != counts[1])
    one, other = sides.values()
    keep("unequal", _any(one.example, one.tokens.lengths != other.tokens.lengths, len(pairs)))
    one, other = sides.values()
    ids = [rows.tokens.fields["input_ids"] for rows in (one, other)]
    special = [rows.tokens.special for rows in (one, other)]
    elsewhere = (special[0] != special[1]) | (special[0] & (ids[0] != ids[1]))
    keep("unequal", _any(_owner(one), elsewhere, len(pairs)))
    if asked.reads_typed_masks:
        keep("no_mask", ~_any(_owner(sides["clean"]), _typed_masks(asked, sides["clean"]), len(pairs)))
    found = {side: replace(rows, gold=None, marks={**rows.marks, ROLE: _roles(asked, sides)})
             for side, rows in sides.items()}  # fmt: skip
    return PairedRows(asked, found, pairs, dropped)  # type: ignore[arg-type]


def _typed_masks(asked: ModelOutput, rows: Rows) -> np.ndarray:
    """[token]: whether it is a mask that somebody wrote."""
    tokens = rows.tokens
    return tokens.special & ~tokens.added & (tokens.fields["input_ids"] == asked.encoder.tokenizer.mask_token_id)


def _roles(asked: ModelOutput, sides: Mapping[str, Rows]) -> np.ndarray:
    """[token]: each token's role; that of a row without a token that differs is as if one came behind its end."""
    rows = sides["clean"]
    tokens = rows.tokens
    changed = tokens.fields["input_ids"] != sides["corrupted"].tokens.fields["input_ids"]
    row = np.repeat(np.arange(len(tokens)), tokens.lengths)
    place = np.arange(len(row)) - tokens.starts[row]
    first = tokens.lengths.astype(np.int64).copy()
    np.minimum.at(first, row[changed], place[changed])
    plain, added = ~tokens.added, tokens.added
    is_of: dict[Role, np.ndarray] = {
        "before": plain & (place < first[row]),
        "after": plain & (place > first[row]),
        "cls": added & (place == 0),
        "sep": added & (place > 0),
        "mask": _typed_masks(asked, rows),
        "changed": changed,
    }
    found = np.zeros(len(row), dtype=np.int32)
    for role, there in is_of.items():  # what is said later counts
        found[there] = 1 + ROLES.index(role)
    return found


def _owner(rows: Rows) -> np.ndarray:
    """[token]: the pair it is of."""
    return np.repeat(rows.example, rows.tokens.lengths)


def _any(owner: np.ndarray, there: np.ndarray, pairs: int) -> np.ndarray:
    """[pair]: whether anything is there that it owns."""
    return np.bincount(owner, there, pairs) > 0


def _taken(rows: Rows, examples: np.ndarray) -> Rows:
    """The rows of some of the examples."""
    starts = np.searchsorted(rows.example, np.arange(len(rows.truncated) + 1))
    counts = np.diff(starts)[examples]
    at = _ranges(starts[examples], counts)
    lengths = rows.tokens.lengths[at]
    places = _ranges(rows.tokens.starts[at], lengths)
    marks = {name: mark[places] for name, mark in rows.marks.items()}
    example = np.repeat(np.arange(len(examples)), counts)
    return Rows(rows.tokens.at(places, lengths), example, rows.truncated[examples], None, marks)


def _ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """From each start so many numbers, one range after the other."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(counts.sum())
