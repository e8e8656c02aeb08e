"""`bertscope study`: one file, many questions. None of it loads torch but what a run computes."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from bertscope.cli.options import STORE, tell_what_is_skipped
from bertscope.cli.study_words import about, branch, columns, foretell, notes
from bertscope.core.errors import UserError
from bertscope.core.progress import verbosity
from bertscope.core.store import Store

if TYPE_CHECKING:
    from bertscope.study.file import Study

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
    cluster_keys: Path | None = None,
    resume: bool = True,
    private: bool = False,
) -> None:
    """Answer every question of a study, and make a page of it.

    What is stored already isn't computed again. If a step fails, only the steps that need its answer are
    left out; the exit code is then 3.

    Parameters
    ----------
    file
        A YAML file, or the name of a ready study (see `bertscope study list`).
    sets
        Override a value of the file: model=bert-base-uncased, tasks=[glue/rte,glue/mrpc],
        questions.lottery.threshold=0.8; may be repeated.
    store
        The folder where results are kept and found again.
    out
        The page to write; by default NAME-report.html.
    dry_run
        Only list the steps, which of them are stored already, and how long the others may take.
    workers
        Run steps side by side in this many processes on this machine; 0 runs them one after the other in this one.
    cluster
        The address of a running Dask scheduler to run steps on: tls://HOST:PORT.
    cluster_keys
        The folder with the keys for it: ca.pem, cert.pem, key.pem. Without it, Dask's own configuration is used.
    resume
        Continue a training that was killed; --no-resume starts it over.
    private
        Show paths, command lines and the system on the page too: for your own eyes.
    """
    from bertscope.study.file import read_study

    read = read_study(file, sets)
    if dry_run:
        foretell(read, Store(store))
        return
    makers = {"workers": workers, "cluster": cluster, "cluster_keys": cluster_keys}
    page = out or Path(f"{read.name}-report.html")
    perform(read, store, page, resume=resume, private=private, **makers)


def perform(
    read: Study, store: Path, out: Path, *, resume: bool = True, private: bool = False, **makers: Any
) -> None:
    """Run a study, write its page, and leave with exit code 3 if some steps failed.

    makers   who makes the steps: what `run_study` takes of workers and clusters
    """
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
        build_report(shelf, out, title=read.title, about=read.about, only=steps, private=private)

    outcome = run_study(read, store=shelf, resume=resume, page=page, **makers)
    if outcome.failed and (ledger := claims_step(step for step in steps.values() if shelf.has(step))):
        run_steps([ledger], shelf)  # the claims about what didn't fail
        steps[ledger.id] = ledger
    there = [name for name, step in steps.items() if shelf.has(step)]
    if there and not is_page_of(out, there, read.title, about=read.about, private=private):
        page()
    made = len(outcome.done)
    counts = f"{made} step{'s' * (made != 1)} made, {len(outcome.stored)} stored before"
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

    columns(ready_studies().items())


@study.command
def show(file: str, /, *, sets: Sets = ()) -> None:
    """Print a study's file as bertscope understands it, and the steps that its questions become.

    Parameters
    ----------
    file
        A YAML file, or the name of a ready study.
    sets
        Override a value of the file: key=value; may be repeated.
    """
    from bertscope.study.file import read_study
    from bertscope.study.located_yaml import dump

    read, seen = read_study(file, sets), set[str]()
    print(dump(read.parsed))
    for step in read.steps:
        branch(step, seen)
    notes(read)


@study.command
def status(file: str, /, *, sets: Sets = (), store: Path = STORE) -> None:
    """Say how far each step of a study is: done, running, failed, waiting, or no longer needed.

    Parameters
    ----------
    file
        A YAML file, or the name of a ready study.
    sets
        The --set values that the run was given.
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
    columns(
        (IN_WORDS[found[name]], short(step), about(step) + (f": {why[name]}" if found[name] == "failed" else ""))
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
        The --set values that their runs were given.
    store
        The folder where results are kept.
    yes
        Really delete it.
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


@study.command
def keys(folder: Path, /) -> None:
    """Make keys for a Dask cluster, so that nobody else can run code on it, and say how to use them.

    Parameters
    ----------
    folder
        The folder to make, for you alone to read. Every machine that takes part needs it.
    """
    from bertscope.study.cluster_keys import how_to_use, make_keys

    make_keys(folder)
    print(how_to_use(folder.absolute()))
