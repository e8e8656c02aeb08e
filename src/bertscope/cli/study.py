"""`bertscope study`: one file, many questions. None of it loads torch but what a run computes."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from bertscope.cli.options import STORE, tell_what_is_skipped
from bertscope.core.errors import UserError
from bertscope.core.progress import verbosity
from bertscope.core.store import Store

if TYPE_CHECKING:
    from bertscope.core.step import Step
    from bertscope.study.file import Study
    from bertscope.study.step_states import State

study = App(name="study", help="One file, many questions: run it, see where it stands, clean up after it.")
Sets = Annotated[tuple[str, ...], Parameter(name="--set", consume_multiple=False)]


@study.command
def run(
    file: str,
    /,
    *,
    sets: Sets = (),
    store: Path = STORE,
    out: Path | None = None,
    dry_run: bool = False,
    workers: int = 0,
    cluster: str | None = None,
    resume: bool = True,
) -> None:
    """Answer every question of a study, and make a page of it.

    What is stored already isn't computed again. A step that fails takes only those with it that need its answer; the
    exit code is then 3.

    Parameters
    ----------
    file
        A YAML file, or the name of a ready study (see `bertscope study list`).
    sets
        Set a value of the file otherwise: model=bert-base-uncased, tasks=[glue/rte,glue/mrpc],
        questions.lottery.threshold=0.8; may be repeated.
    store
        The folder where results are kept and found again.
    out
        The page to write; by default NAME-report.html.
    dry_run
        Only say which steps there are, which are stored already, and how long the others may take.
    workers
        Run steps side by side in this many processes; 0: one after the other in this one.
    cluster
        The address of a running Dask scheduler to run steps on.
    resume
        Go on from where a training that was killed was; --no-resume starts it over.
    """
    from bertscope.study.file import read_study

    read = read_study(file, sets)
    if dry_run:
        _foretell(read, Store(store))
        return
    perform(read, store, out or Path(f"{read.name}-report.html"), workers=workers, cluster=cluster, resume=resume)


def perform(
    read: Study, store: Path, out: Path, *, workers: int = 0, cluster: str | None = None, resume: bool = True
) -> None:
    """Run a study, write its page, and leave with exit code 3 if some steps failed."""
    from bertscope.core.files import check_file
    from bertscope.core.step import graph
    from bertscope.report.build import MARK, build_report, is_page_of
    from bertscope.study.claims.question import claims_step
    from bertscope.study.run import run_study
    from bertscope.study.runner import run_steps

    check_file(out, MARK)
    for note in read.notes if verbosity() != "quiet" else ():
        print(f"note: {note}", file=sys.stderr)
    tell_what_is_skipped(store)
    started, shelf = time.perf_counter(), Store(store)

    steps = graph(read.steps)

    def page() -> None:
        build_report(shelf, out, title=read.title, only=steps)

    outcome = run_study(read, store=shelf, workers=workers, cluster=cluster, resume=resume, page=page)
    if outcome.failed and (ledger := claims_step(step for step in steps.values() if shelf.has(step))):
        run_steps([ledger], shelf)  # the claims about what didn't fail
        steps[ledger.id] = ledger
    there = [name for name, step in steps.items() if shelf.has(step)]
    if there and not is_page_of(out, there, read.title):
        page()
    counts = f"{len(outcome.done)} steps made, {len(outcome.stored)} were stored"
    if outcome.failed:
        counts += f", {len(outcome.failed)} failed, {len(outcome.skipped)} need what failed"
    where = f"; open {out.resolve()}" if there else "; there is nothing to show yet"
    print(f"{counts}; {time.perf_counter() - started:.0f} s{where}", file=sys.stderr)
    if outcome.exit_code:
        raise SystemExit(outcome.exit_code)


@study.command(name="list")
def list_() -> None:
    """List the studies that come with the package.

    Each is a file: `bertscope study show NAME` prints it, and `--set` changes it.
    """
    from bertscope.study.file import ready_studies

    _columns(ready_studies().items())


@study.command
def show(file: str, /, *, sets: Sets = ()) -> None:
    """Print a study's file as it is understood, and the steps that its questions become.

    Parameters
    ----------
    file
        A YAML file, or the name of a ready study.
    sets
        Set a value of the file otherwise: key=value; may be repeated.
    """
    from bertscope.study.file import read_study
    from bertscope.study.located_yaml import dump

    read, seen = read_study(file, sets), set[str]()
    print(dump(read.parsed))
    for step in read.steps:
        _branch(step, seen)
    _notes(read)


@study.command
def status(file: str, /, *, sets: Sets = (), store: Path = STORE) -> None:
    """Say where each step of a study stands: done, running, failed, waiting, or not needed any more.

    Parameters
    ----------
    file
        A YAML file, or the name of a ready study.
    sets
        What the run was given with --set.
    store
        The folder where results are kept.
    """
    from bertscope.core.step import graph
    from bertscope.study.file import read_study
    from bertscope.study.step_states import IN_WORDS, failures, states
    from bertscope.study.step_words import short

    read, shelf = read_study(file, sets), Store(store)
    tell_what_is_skipped(shelf)
    steps, found, why = graph(read.steps), states(read.steps, shelf), failures(shelf)
    counts = Counter(found.values())
    _columns(
        (IN_WORDS[found[name]], short(step), _about(step) + (f": {why[name]}" if found[name] == "failed" else ""))
        for name, step in steps.items()
    )
    print(
        f"{len(steps)} steps: " + ", ".join(f"{counts[one]} {word}" for one, word in IN_WORDS.items() if counts[one])
    )


@study.command
def gc(*files: str, sets: Sets = (), store: Path = STORE, yes: bool = False) -> None:
    """Delete from the store what the named studies don't need.

    Only says what it would delete, unless you add --yes. Refused while a step that they don't need is running.

    Parameters
    ----------
    files
        The studies whose steps are kept: YAML files, or names of ready ones.
    sets
        What their runs were given with --set.
    store
        The folder where results are kept.
    yes
        Delete it.
    """
    from bertscope.study.file import read_study
    from bertscope.study.garbage import delete_unneeded, unneeded

    if not files:
        raise UserError("name the studies whose steps are to be kept; to delete all, delete the folder itself")
    kept, shelf = [read_study(file, sets) for file in files], Store(store)
    if not yes:
        tell_what_is_skipped(shelf)
    waste = delete_unneeded(shelf, kept) if yes else unneeded(shelf, kept)
    for one in waste:
        print(f"{one.size / 1e6:8.1f} MB  {one.folder.relative_to(shelf.folder)}")
    total = f"{len(waste)} folders, {sum(one.size for one in waste) / 1e6:.1f} MB"
    for path in shelf.strangers():
        print(f"left alone: {path.relative_to(shelf.folder)}, which bertscope didn't write")
    print(f"deleted: {total}" if yes else f"not needed: {total}" + ("; add --yes to delete them" if waste else ""))


_LEFT_ALONE: dict[State, str] = {"done": "stored", "not_needed": "not needed"}
"""States in which nothing of a step is left to compute, and what a plan says of them."""


def _foretell(read: Study, store: Store) -> None:
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
    _columns(
        (_LEFT_ALONE.get(found[name]) or took.get(name, "unknown"), short(step), _about(step))
        for name, step in steps.items()
    )
    _notes(read)
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


def _branch(step: Step, seen: set[str], depth: int = 0) -> None:
    """A step and, under it, those it rests on that weren't shown yet."""
    from bertscope.study.step_words import short

    seen.add(step.id)
    needed = {one.id: one for one in step.before()}
    above = len(needed.keys() & seen)
    print(f"{'  ' * depth}{short(step)}  {_about(step)}" + (f" (uses {above} of the above)" if above else ""))
    for name, one in needed.items():
        if name not in seen:
            _branch(one, seen, depth + 1)


def _about(step: Step) -> str:
    from bertscope.study.step_words import about, changed_settings

    return "; ".join(filter(None, (about(step), changed_settings(step))))


def _notes(read: Study) -> None:
    for note in read.notes:
        print(f"note: {note}")


def _columns(rows: Iterable[Sequence[str]]) -> None:
    """Print rows in columns, the last as long as it is."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    for *first, last in rows:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(first, widths, strict=True)), last]))
