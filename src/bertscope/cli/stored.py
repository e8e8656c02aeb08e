"""`bertscope ls`, `show` and `rm`: what is stored, listed, shown, deleted. None of them loads torch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import replace
from pathlib import Path
from typing import Any

from bertscope.cli.answer import print_answer, print_json, print_table
from bertscope.cli.options import STORE, quiet_beside_json, tell_what_is_skipped
from bertscope.core import registry
from bertscope.core.console import Console
from bertscope.core.differences import differences
from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.model_record import ModelRecord
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.result_json import as_json
from bertscope.core.store import Damaged, Store, Stored
from bertscope.core.words import ModelNames, about
from bertscope.study.step_words import short, shortened


def ls(*, store: Path = STORE, json: bool = False) -> None:
    """List what is stored: each finished step with its main number, and what sets it apart from similar ones.

    Parameters
    ----------
    store
        The folder where results are kept.
    json
        Print the answers as a JSON list: numbers and models by key, notes, and where each came from.
    """
    from rich.table import Table

    finished, damaged = _all(store, json)
    if json:
        print_json([_listed(one) for one in finished])
        return
    table = Table(box=None, pad_edge=False)
    for column in ("step", "about", "main number", "made"):
        table.add_column(column, no_wrap=column in ("step", "made"))
    for stored, words in zip(finished, _abouts(finished), strict=True):
        created = stored.result["provenance"]["created"][:16].replace("T", " ")
        table.add_row(short(stored.step), words, _main_number(stored), created)
    for bad in damaged:
        table.add_row(shortened(bad.folder.name), f"damaged: {bad.reason}", "", "")
    Console().print(table)


def _listed(stored: Stored) -> dict[str, Any]:
    """What programs read of a stored answer in a list: not which tables and figures it has."""
    said = as_json(stored.result, stored.step.id)
    return {name: value for name, value in said.items() if name not in ("tables", "figures")}


def _main_number(stored: Stored) -> str:
    """The number that stands for the whole answer, in words; nothing where its question is gone."""
    main = registry.find(stored.step.name).main if stored.step.name in registry.QUESTIONS else None
    numbers = [Number(**number) for number in stored.result["headline"] if number["key"] == main]
    return f"{numbers[0].label} {numbers[0].written()[0]}" if numbers else ""


def _abouts(finished: Sequence[Stored]) -> list[str]:
    """What each stored answer is about, with what tells it from the others."""
    models = [{key: ModelRecord.from_json(one) for key, one in each.result["models"].items()} for each in finished]
    names = ModelNames(record for mine in models for record in mine.values())
    subjects = [(list(mine), each.result["subject"]) for mine, each in zip(models, finished, strict=True)]
    differing = differences([each.step for each in finished], subjects)
    found = []
    for mine, (_, subject), only in zip(models, subjects, differing, strict=True):
        named = {key: replace(mine[key], name=name) for key, name in names.by_key(mine).items()}
        found.append(", ".join(filter(None, [about(named, subject), only])))
    return found


def show(step: str, /, *, table: str = "", rows: int = 20, store: Path = STORE, json: bool = False) -> None:
    """Print a stored answer again: its numbers, its notes, its tables and the folder they are in.

    Parameters
    ----------
    step
        The step's name as `bertscope ls` prints it, or the beginning of it.
    table
        Print this table of the answer instead.
    rows
        At most this many lines of the table.
    store
        The folder where results are kept.
    json
        Print it as JSON, as the question's own --json does.
    """
    if rows < 1:
        raise UserError(f"rows is {rows}; give 1 or more")
    listed, damaged = _all(store, json)
    finished, bad = {one.step.id: one for one in listed}, {one.folder.name: one.reason for one in damaged}
    name = _found(step, [*finished, *bad])
    if name in bad:
        raise UserError(f"{name} is damaged: {bad[name]}; ask its question again to make it again, or delete it")
    stored = finished[name]
    if json:
        print_json(as_json(stored.result, stored.step.id))
        return
    folder, result = stored.folder, Result.load(stored.folder / "result")
    if table:
        return print_table(result.in_words(), table, first=rows)
    console = print_answer(result)
    tables = ", ".join(f"{name} ({len(table):,} rows)" for name, table in result.tables.items())
    console.print(f"\ntables: {tables}" if tables else "", markup=False, soft_wrap=True)
    console.print(f"stored in {folder}", markup=False, soft_wrap=True)


def rm(*steps: str, other_versions: bool = False, store: Path = STORE, yes: bool = False) -> None:
    """Delete stored answers. Only says what it would delete, unless you add --yes.

    What was made from them stays. If their questions are asked again, they are computed again.

    Parameters
    ----------
    steps
        The steps' names as `bertscope ls` prints them, or the beginnings of these.
    other_versions
        Also delete what another version of bertscope stored and this one can't read.
    store
        The folder where results are kept.
    yes
        Really delete them.
    """
    if not steps and not other_versions:
        raise UserError("name the steps to delete, as 'bertscope ls' prints them; to delete all, delete the folder")
    shelf = Store(store)
    others = {folder.name: folder for folder in shelf.of_other_versions()}
    finished = list(shelf.finished())
    told = {one.folder.name: (one.folder, words) for one, words in zip(finished, _abouts(finished), strict=True)}
    told |= {one.folder.name: (one.folder, f"damaged: {one.reason}") for one in shelf.damaged()}
    told |= {name: (folder, "of another version") for name, folder in others.items()}
    _refuse_empty(told, store)
    named = dict.fromkeys([*(_found(step, told) for step in steps), *(others if other_versions else ())])
    shelf.refuse_deleting(told[name][0] for name in named)
    for name in named:
        folder, words = told[name]
        if yes:
            shelf.delete(folder)
        print(f"{name}  {words}")
    print(f"deleted: {len(named)}" if yes else f"would be deleted: {len(named)}; add --yes to delete them")


def _all(store: Path, json: bool) -> tuple[list[Stored], list[Damaged]]:
    with quiet_beside_json(json):
        tell_what_is_skipped(store)
    found = list(Store(store).look())
    _refuse_empty(found, store)
    return [one for one in found if isinstance(one, Stored)], [one for one in found if isinstance(one, Damaged)]


def _refuse_empty(stored: Sized, store: Path) -> None:
    if not stored:
        raise UserError(f"nothing is stored in {store}; run 'bertscope demo', or name another folder with --store")


def _found(name: str, stored: Iterable[str]) -> str:
    """The stored step of that name, or the only one whose name begins like that."""
    if not name:  # as a script's unset variable gives it: every name begins like that
        raise UserError("the name of a step is empty; 'bertscope ls' lists what is stored")
    stored = list(stored)
    fitting = [one for one in stored if one.startswith(name)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        some = ", ".join(map(shortened, fitting[:2]))
        raise UserError(f"{len(fitting)} stored steps begin with {name!r}, {some} among them; write more of the name")
    close = did_you_mean(name, map(shortened, stored))
    hint = close if close.startswith("did") else "'bertscope ls' lists what is"
    raise UserError(f"no step {name!r} is stored; {hint}")
