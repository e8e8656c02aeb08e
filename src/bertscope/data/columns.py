"""Which column is which: named by the user, or guessed from the names that data sets commonly use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from bertscope.core.errors import UserError
from bertscope.data.row_columns import counts_rows
from bertscope.data.table import Table, other_separator, refuse_two

_PAIRS = (
    ("text", "text_pair"),
    ("text1", "text2"),
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("query", "passage"),
)
_TEXTS = ("text", "sentence", "review", "reviews", "comment", "tweet", "content", "document", "question", "sentence1",
          "premise", "question1", "text1", "body", "title", "startphrase", "ctx", "goal")  # fmt: skip
_LABELS = ("label", "labels", "gold_label", "score", "target", "class", "sentiment", "category", "rating",
           "satisfaction", "similarity", "stars", "y", "answerkey")  # fmt: skip


@dataclass(frozen=True)
class Columns:
    """The columns that hold the first text, the second (if the task is about pairs) and the label."""

    text: str
    pair: str | None
    label: str
    """Empty where only texts are read."""
    note: str | None = None
    """What was guessed, if anything was."""
    id: str | None = None
    """The column that says what rows are called, if the user names one."""
    numbers: tuple[str, ...] = ()
    """Notes on columns that repeat the row number."""
    further: tuple[str, ...] = ()
    """Columns that are read beside these, since the user wants to know of rows by them."""


def find_columns(
    table: Table,
    text: str | None,
    pair: str | None,
    label: str | None,
    *,
    id: str | None = None,
    labelled: bool = True,
) -> Columns:
    """The columns the user named, the others guessed. A text named alone means that there is no second one; what
    isn't `labelled` is texts alone. A column that repeats the row number is never guessed."""
    guessed: dict[str, str] = {}
    numbers = [
        f"column {name!r} repeats the row number; is it the {role}?"
        for role, name in (("text", text), ("label", label)) if name in table.header and counts_rows(table, name)
    ]  # fmt: skip
    # Guesses never take a column that the user named for something else.
    free = {name.lower(): name for name in reversed(table.header) if name not in (text, pair, label, id)}
    if text is None and pair is None:
        couple = next((couple for couple in _PAIRS if set(couple) <= set(free)), None)
        if couple:
            text, pair = (free[name] for name in couple)
            guessed |= {"text": text, "text_pair": pair}
    if text is None:
        text = guessed["text"] = _guess(table, free, _TEXTS, "text", numbers)
    if label is None:
        label = guessed["label"] = _guess(table, free, _LABELS, "label", numbers) if labelled else ""
    given = (("text", text), ("text_pair", pair), ("label", label), ("id", id))
    roles = [(role, name) for role, name in given if name]
    for _, name in roles:
        refuse_two(table.path, table.header, name)
    for (one, name), (other, same) in combinations(roles, 2):
        if name == same:
            raise UserError(f"{table.path}: {one} and {other} are both {name!r}; name two columns of {table.columns}")
    return Columns(text, pair, label, _note(guessed), id, tuple(numbers))


def text_columns(
    path: Path, header: Sequence[str], text: str | None, pair: str | None, id: str | None
) -> dict[str, str]:
    """The columns of texts alone, by role (text, pair, id), as the user named them or by their names; nothing is read
    of them."""
    for flag, name in (("text", text), ("text-pair", pair), ("id", id)):
        if name is not None and name not in header:
            raise UserError(f"{path} has no column {name!r}; name one with --{flag} (of {', '.join(header)})")
    if text is None:
        lower = {name.lower(): name for name in reversed(header) if name not in (pair, id)}
        couple = next((couple for couple in _PAIRS if pair is None and set(couple) <= set(lower)), None)
        text = next((lower[name] for name in (couple or _TEXTS) if name in lower), None)
        pair = lower[couple[1]] if couple else pair
    if text is None:
        raise UserError(f"{path}: no column looks like the text; name one with --text (of {', '.join(header)})")
    found = {role: name for role, name in (("text", text), ("pair", pair), ("id", id)) if name is not None}
    for name in found.values():
        refuse_two(path, header, name)
    return found


def has_labels(table: Table, *texts: str | None) -> bool:
    """Whether a column that isn't one of the texts looks like the label."""
    return looks_labelled([name for name in table.header if name not in texts])


def looks_labelled(header: Iterable[str]) -> bool:
    """Whether a column looks like the label."""
    return any(name.lower() in _LABELS for name in header)


def _guess(table: Table, free: dict[str, str], common: Iterable[str], role: str, numbers: list[str]) -> str:
    found = None
    for name in (free[name] for name in common if name in free):
        if not counts_rows(table, name):
            found = name
            break
        numbers.append(f"column {name!r} repeats the row number, and isn't taken for the {role}")
    if found is None:
        alone = "; texts alone can be read with --kind masked" if role == "label" else ""
        cure = other_separator(table.header) or f"name it with --{role}, or call it {role} there{alone}"
        cure = f"{cure}; {numbers[-1]}" if numbers else cure
        raise UserError(
            f"{table.path}: no column looks like the {role}; {cure} "
            f"(the first line gives the columns: {table.columns})"
        )
    return found


def _note(guessed: dict[str, str]) -> str | None:
    guessed = {role: name for role, name in guessed.items() if name}
    if not guessed:
        return None
    listed = ", ".join(f"{role}={name!r}" for role, name in guessed.items())
    *flags, last = (f"--{role.replace('_', '-')}" for role in guessed)
    named = f"{', '.join(flags)} and {last}" if flags else last
    return f"columns guessed: {listed}; name them with {named}"
