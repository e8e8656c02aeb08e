"""A question that is called with a store, or needs one: planned, found there or computed and kept, like a command."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bertscope.core import registry
from bertscope.core.calling import Call
from bertscope.core.errors import UserError
from bertscope.core.files import check_writable
from bertscope.core.folders import check_folder, refuse_inside, whole_folder
from bertscope.core.planning import planned
from bertscope.core.question import Question
from bertscope.core.result import KIND, Result
from bertscope.core.series import Series
from bertscope.core.step import Step
from bertscope.core.store import DEFAULT, Store
from bertscope.study.runner import run_steps


def answer(question: Question, asked: Call) -> Any:
    """The stored result, or what the question keeps with it: a model, hidden states."""
    store, out = _store(asked.store), asked.kept.get("out")
    for name in asked.beside:
        if name not in question.flags:
            raise UserError(f"{question.name} takes {name}= in memory only; leave it out, or leave out store=")
    step = _step(question, asked)
    check_store(store, step)
    if out is not None:
        check_out(question, Path(out), store)
        refuse_scattered(question, step)
    run_steps([step], store, workers=asked.workers, resume=asked.kept.get("resume", True))
    result, folder = store.result(step), store.path(step)
    if out is not None:
        write_out(question, folder, result, Path(out))
    return question.kept(folder / question.keeps, result) if question.keeps else result


def check_out(question: Question, out: Path, store: Store) -> None:
    """Refuse a folder that isn't ours to write to, before anything is computed."""
    refuse_inside(out)
    check_folder(out, _kind_of(question))
    if store.folder.absolute().is_relative_to(out.absolute()):
        raise UserError(f"cannot write {out}: the store {store.folder} lies in it; choose another folder")


def refuse_scattered(question: Question, step: Step) -> None:
    """Refuse to copy what lies in the folders of several steps."""
    if _keeps_folder(question) and any(name.startswith("sums.") for name in step.inputs):
        raise UserError(
            f"{question.name} in shards stays in the store, a folder for each shard; leave out --out, or --shards"
        )


def check_store(store: Store, step: Step) -> None:
    """Refuse a store that can't be written, unless the step is there: one that may only be read answers from that."""
    if not store.has(step):
        check_writable(store.folder / "steps")


def write_out(question: Question, folder: Path, result: Result, out: Path) -> None:
    """Copy what a stored step keeps (a model, hidden states), or its result, to a folder of the user's."""
    if not _keeps_folder(question):
        result.save(out)
        return
    with whole_folder(out, _kind_of(question)) as scratch:
        shutil.copytree(folder / question.keeps, scratch, dirs_exist_ok=True)


def _store(given: Any) -> Store:
    if not isinstance(given, Store | str | Path | None):
        raise UserError(f"can't use {type(given).__name__} as a store; give the path of a folder, or a Store")
    return given if isinstance(given, Store) else Store(DEFAULT if given is None else given)


def _step(question: Question, asked: Call) -> Step:
    named = [_named(question, name, asked) for name in question.named if asked.inputs[name] is not None]
    several = named[0] if question.takes_several else named
    on = asked.inputs[question.reads] if question.reads else None
    return planned(question, several, on, asked.config, asked.reading, asked.beside, asked.base, asked.shards)


def _named(question: Question, name: str, asked: Call) -> Any:
    """A model, a result, or several, as they are identified: names as they are, models in memory with their
    tokenizer."""
    one, value = question.asked_of[name], asked.inputs[name]
    if isinstance(value, Series) and not one.many:
        return _held(one.kind, value, asked)
    if one.many:
        return [_held(one.kind, each, asked) for each in (value if _is_several(value) else [value])]
    return _held(one.kind, value, asked)


def _is_several(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _held(kind: str, value: Any, asked: Call) -> Any:
    if isinstance(value, Series):
        return value.map(lambda each: _held(kind, each, asked))
    if not registry.is_model(kind) or (isinstance(value, str) and asked.tokenizer is None):
        return value
    return registry.resolve(registry.KINDS[kind].open)(value, tokenizer=asked.tokenizer, base=asked.base)


def _keeps_folder(question: Question) -> bool:
    """Whether what it keeps beside its result is what a user wants of it: a model, hidden states."""
    return question.keeps in registry.KINDS and bool(registry.KINDS[question.keeps].folder)


def _kind_of(question: Question) -> str:
    """What the question writes to a folder of the user's: the model or the states that it keeps, or its result."""
    if not _keeps_folder(question):
        return KIND
    return question.folder or registry.KINDS[question.keeps].folder
