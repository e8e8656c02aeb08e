"""What `bertscope study` says of a study: its plan, its steps, how long they may take. Loads no torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bertscope.cli.options import tell_what_is_skipped
from bertscope.core.store import Store

if TYPE_CHECKING:
    from bertscope.core.step import Step
    from bertscope.study.file import Study
    from bertscope.study.step_states import State

_LEFT_ALONE: dict[State, str] = {"done": "stored", "not_needed": "not needed"}
"""States in which nothing of a step is left to compute, and what a plan says of them."""


def foretell(read: Study, store: Store) -> None:
    """The steps, what is stored of them, and how long the others may take. Their data is read, as by a run."""
    from bertscope.core.step import graph
    from bertscope.study.preflight import preflight
    from bertscope.study.step_states import states
    from bertscope.study.step_words import duration, short
    from bertscope.study.times import IN_WORDS, Times

    tell_what_is_skipped(store)
    preflight(read, store)
    steps, found, times = graph(read.steps), states(read.steps, store), Times.of_store(store)
    left = [step for name, step in steps.items() if found[name] not in _LEFT_ALONE]
    guesses = {step.id: guess for step in left if (guess := times.guess(step))}
    took = {name: duration(guess.seconds) for name, guess in guesses.items()}
    columns(
        (_LEFT_ALONE.get(found[name]) or took.get(name, "unknown"), short(step), about(step))
        for name, step in steps.items()
    )
    notes(read)
    counts = Counter(found.values())
    left_alone = [
        f"{counts[state]} {word}" for state, word in _LEFT_ALONE.items() if counts[state] or state == "done"
    ]
    plan = ", ".join([f"{len(steps)} steps", *left_alone])
    if not left:
        print(f"{plan}: nothing to compute")
    elif not guesses:
        print(f"{plan}; how long the others take is unknown: none of their questions was answered in this store")
    else:
        unknown = len(left) - len(guesses)
        more = f", and {unknown} steps of which nothing is known" if unknown else ""
        print(f"{plan}; about {duration(sum(guess.seconds for guess in guesses.values()))} one after the other{more}")
        alike = Counter(IN_WORDS[guess.like] for guess in guesses.values()).most_common()
        how = ", ".join(f"{count} {like}" for like, count in alike)
        print(f"a step's time is the median of steps of its question: {how}")


def branch(step: Step, seen: set[str], depth: int = 0) -> None:
    """A step and, under it, those it rests on that weren't shown yet."""
    from bertscope.study.step_words import short

    seen.add(step.id)
    needed = {one.id: one for one in step.before()}
    above = len(needed.keys() & seen)
    print(f"{'  ' * depth}{short(step)}  {about(step)}" + (f" (uses {above} of the above)" if above else ""))
    for name, one in needed.items():
        if name not in seen:
            branch(one, seen, depth + 1)


def about(step: Step) -> str:
    from bertscope.study import step_words

    return "; ".join(filter(None, (step_words.about(step), step_words.changed_settings(step))))


def notes(read: Study) -> None:
    for note in read.notes:
        print(f"note: {note}")


def columns(rows: Iterable[Sequence[str]]) -> None:
    """Print rows in columns, the last as long as it is."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    for *first, last in rows:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(first, widths, strict=True)), last]))
