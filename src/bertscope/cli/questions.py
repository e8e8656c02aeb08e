"""One command for each question, made from what it declares.

`bertscope.cli.questions:ablate` is made when it is first asked for: its flags are the fields of the question's
config, its help their docstrings.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from bertscope.cli.options import (
    ModelOptions,
    RunOptions,
    ShardOptions,
    in_store,
    quiet_beside_json,
    tell_what_is_skipped,
)
from bertscope.core import registry
from bertscope.core.errors import UserError
from bertscope.core.planning import planned, series_in
from bertscope.core.question import Question
from bertscope.core.result import Result
from bertscope.core.step import Step
from bertscope.core.store import Store
from bertscope.data.options import DataOptions
from bertscope.study.answer import check_out, check_store, refuse_scattered, write_out
from bertscope.study.runner import run_steps

_DATA_HELP = {
    "task": "demo/sentiment, glue/rte, a CSV, TSV, JSONL or Parquet file, or a folder of train and dev files.",
    "data": "A task, or texts without labels: a treebank (.conllu), FrameNet, a text file.",
    "pairs": "demo/minimal, a file with columns good and bad (or clean and corrupted), BLiMP, or texts with --swap.",
    "examples": "A task (its test set is read), a treebank (.conllu), FrameNet, a text file, or 'parts/*.txt.gz'.",
}
_ALSO_TRAINED_ON = " Also SQuAD's JSON, demo/qa, or a treebank (.conllu)."
"""What finetune takes, and questions that look at labels don't."""
_OR_A_TEXT = " Without it, --text is the text itself, and --text-pair a second one."
"""What is said of data where a text can stand in its place."""
_TEXTS = ("examples", "data")
"""Data that is texts, or can be: such a question may be asked in shards, or refuses it."""
_MODEL = "'pocket', a folder, or a hub id."
_SERIES = " Or a series of checkpoints: 'run/checkpoint-*', or the training's folder."
_BOTH = " Leave it out if the first is a series."
_SCORER = "'pocket', a folder, a hub id, or an ONNX file."
_SEVERAL = {
    "models": ("model", _MODEL + _SERIES, "Further models, which read the same texts as the first."),
    "texts": (
        "text",
        "A file of plain text, also .gz or .xz, a pattern of such files in quotes, or demo/language (built in).",
        "Further files.",
    ),
    "answers": ("answer", "The folder of a result.", "The same question's results for later checkpoints."),
    "courses": ("course", "The folder of a `course` result, for one training.", "The same for further trainings."),
    "lotteries": ("lottery", "The folder of a lottery's result.", "The folders of the lotteries to compare it with."),
}
"""Inputs of which there may be many: what the first is called, and what is said of it and of the others."""


def __getattr__(name: str) -> App:
    if name not in registry.QUESTIONS:
        raise AttributeError(name)
    question = registry.find(name)
    # An app, not the function: its own help ends with how the question is answered.
    app = App(name=name, help_epilogue=" ".join(question.about.split()))
    app.default(_command(question))
    return app


def _command(question: Question) -> Callable[..., None]:
    def command(
        *named: str, on: str | None = None, config: Any = None, data: Any = None, models: Any = None, run: Any = None,
        sharing: Any = None, **further: str | tuple[str, ...] | None,
    ) -> None:  # fmt: skip
        data, run = data or reading(), run or RunOptions()
        settings, base = config or question.config(), models.base if models else None
        read: tuple[Any, dict[str, Any]] = (on, data.given())
        if question.takes_text:
            read = registry.resolve(registry.SERVICES["given_text"])(on or None, data.given())
        sharing = sharing or ShardOptions()
        given = (question, _as_named(question, named), read[0], settings, read[1], further, base, sharing.shards)
        _answer(question, functools.partial(planned, *given), run, sharing.workers)

    flat = Parameter(name="*")
    positional = _positional(question)
    reads = question.asked_of[question.reads].kind if question.reads else None
    reading: Any = registry.reading_options(reads) if reads else DataOptions
    also = _ALSO_TRAINED_ON if question.name == "finetune" else _OR_A_TEXT if question.takes_text else ""
    on: Any = str | None if question.takes_text else str
    of_models = registry.is_model(question.asked_of[question.named[0]].kind)
    # Who can't be asked in shards says so, but doesn't offer it.
    sharing = Parameter(name="*", group="In shards", show=bool(question.sharding))
    keywords = {
        **({"on": Annotated[on, Parameter(help=_DATA_HELP[reads] + also)]} if reads else {}),
        **{
            name: Annotated[tuple[str, ...] | None if one.many else str | None, Parameter(help=one.flag)]
            for name, one in question.flags.items()
        },
        **({"config": Annotated[question.config, flat]} if fields(question.config) else {}),
        **({"data": Annotated[reading, Parameter(name="*", group="How the data is read")]} if reads else {}),
        **(
            {"models": Annotated[ModelOptions, Parameter(name="*", group="How models are read")]} if of_models else {}
        ),
        **({"sharing": Annotated[ShardOptions, sharing]} if reads in _TEXTS else {}),
        "run": Annotated[RunOptions, Parameter(name="*", group="Where the answer goes")],
    }
    # Instances, not None: where pydantic is loaded, cyclopts holds defaults to their annotations.
    defaults = {
        "config": question.config(), "data": reading(), "models": ModelOptions(), "sharing": ShardOptions(),
        "run": RunOptions(),
    }  # fmt: skip
    if not question.takes_text:
        defaults["on"] = inspect.Parameter.empty
    listed = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=hint, default=defaults.get(name))
        for name, hint in keywords.items()
    ]
    command.__signature__ = inspect.Signature([*positional, *listed])  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in (*positional, *listed)}
    command.__name__ = question.name
    command.__doc__ = question.description
    return command


def _as_named(question: Question, named: Sequence[str | None]) -> list[str]:
    """What was typed without a flag; where a model is missing, the other must be a series."""
    found = [one for one in named if one is not None]
    if not question.takes_several and len(found) < len(question.named):
        first = question.named[0]
        if series_in(question.asked_of[first].kind, found[0]) is None:
            missing = question.named[len(found)]
            raise UserError(
                f"{question.name} is asked of {' and '.join(question.named)}; {missing} isn't given, and {found[0]} "
                "is no series of checkpoints"
            )
    return found


def _positional(question: Question) -> list[inspect.Parameter]:
    """What is typed without a flag: an input each, or one and any number of others like it."""
    names = question.named
    if not question.takes_several:
        return [_model_parameter(question, name) for name in names]
    name, one, others = _SEVERAL[names[0]]
    first, more = (Annotated[str, Parameter(help=words)] for words in (one, others))
    return [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY, annotation=first),
        inspect.Parameter("more", inspect.Parameter.VAR_POSITIONAL, annotation=more),
    ]


def _model_parameter(question: Question, name: str) -> inspect.Parameter:
    """A model that is typed without a flag; the second of two may be left out where the first can be a series."""
    place = question.named.index(name)
    words = _SCORER if question.asked_of[name].kind == "scorer" else _MODEL
    if question.over_steps is None:
        hint: Any = Annotated[str, Parameter(help=words)]
        return inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY, annotation=hint)
    hint = Annotated[str | None if place else str, Parameter(help=words + (_BOTH if place else _SERIES))]
    default = None if place else inspect.Parameter.empty
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY, annotation=hint, default=default)


def _answer(question: Question, plan: Callable[[], Step], run: RunOptions, workers: int) -> None:
    store = Store(run.store)
    if run.out is not None:
        check_out(question, run.out, store)
    step = plan()
    if run.out is not None:
        refuse_scattered(question, step)
    check_store(store, step)
    folder = store.path(step)
    with quiet_beside_json(run.json):
        tell_what_is_skipped(store)
        run_steps([step], store, workers=workers, resume=run.resume)
    result = store.result(step)
    if run.out is not None:
        write_out(question, folder, result, run.out)
    if run.json:
        from bertscope.cli.answer import print_json

        print_json(result.to_json(step.id))
    else:
        _print(result, step, folder, run)


def _print(result: Result, step: Step, folder: Path, run: RunOptions) -> None:
    from bertscope.cli.answer import print_answer, what_to_try

    console = print_answer(result)
    if command := what_to_try(result, step, run.out or folder / "model"):
        console.print(f"\ntry: {command}", markup=False, soft_wrap=True)
    written = f", written to {run.out}" if run.out else ""
    console.print(f"\nstored in {folder}{written}", markup=False, soft_wrap=True)
    console.print(f"see it: bertscope report build{in_store(run.store)}", markup=False, soft_wrap=True)
