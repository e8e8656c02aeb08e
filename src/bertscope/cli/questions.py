"""One command per catalogued question, made from what its function declares.

`bertscope.cli.questions:ablate` is made when it is first asked for: its flags are the fields of the question's
config, its help their docstrings.
"""

from __future__ import annotations

import inspect
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from bertscope.cli.options import STORE, DataOptions, RunOptions
from bertscope.core import catalogue
from bertscope.core.files import FolderKind, check_writable, refuse_foreign, whole_folder
from bertscope.core.result import FOLDER, Result
from bertscope.core.step import Step
from bertscope.core.store import Store

_DATA_HELP = {
    "task": "demo/sentiment, glue/rte, a CSV, TSV, JSONL or Parquet file, or a folder of train and dev files.",
    "data": "A task, or what other questions about attention read; of a task, pairs of heads are switched off too.",
    "examples": "A task (its report split is read), a treebank (.conllu), FrameNet, or a text file.",
}


def __getattr__(name: str) -> Callable[..., None]:
    if name not in catalogue.CATALOGUE:
        raise AttributeError(name)
    return _command(catalogue.spec(name))


def _command(spec: catalogue.Spec) -> Callable[..., None]:
    def command(*models: str, on: str, config: Any = None, data: Any = None, run: Any = None) -> None:
        data, run = data or DataOptions(), run or RunOptions()
        _answer(spec, list(models), on, config or spec.config_class(), data, run)

    flat = Parameter(name="*")
    model = Annotated[str, Parameter(help="'pocket', a folder, or a hub id.")]
    more = Annotated[str, Parameter(help="Further models, read side by side with the first on the same texts.")]
    positional = (
        [inspect.Parameter("model", inspect.Parameter.POSITIONAL_ONLY, annotation=model),
         inspect.Parameter("more", inspect.Parameter.VAR_POSITIONAL, annotation=more)]
        if model_inputs(spec) == ["models"]
        else [
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY, annotation=model)
            for name in model_inputs(spec)
        ]
    )  # fmt: skip
    keywords = {
        "on": Annotated[str, Parameter(help=_DATA_HELP[data_input(spec)])],
        "config": Annotated[spec.config_class, flat],
        "data": Annotated[DataOptions, flat],
        "run": Annotated[RunOptions, flat],
    }
    listed = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, annotation=hint,
            default=inspect.Parameter.empty if name == "on" else None,
        )
        for name, hint in keywords.items()
    ]  # fmt: skip
    command.__signature__ = inspect.Signature([*positional, *listed])  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in (*positional, *listed)}
    command.__name__ = spec.name
    command.__doc__ = inspect.getdoc(catalogue.resolve(catalogue.entry(spec.name).target))
    return command


def model_inputs(spec: catalogue.Spec) -> list[str]:
    """The question's models, in order. What reads hidden states reads any number's; an experiment has one base."""
    if "states" in spec.inputs:
        return ["models"]
    return [name for name in spec.inputs if catalogue.INPUT_KINDS[name] == "model"] if spec.plan is None else ["base"]


def data_input(spec: catalogue.Spec) -> str:
    """What the question reads: a task, any texts, or either."""
    return next((name for name in ("examples", "data") if name in spec.inputs), "task")


def _answer(
    spec: catalogue.Spec, models: list[str], on: str, config: Any, data: DataOptions, run: RunOptions
) -> None:
    check_writable(run.store / "steps")
    if run.out is not None:
        refuse_foreign(run.out, _kind_of(spec))
        check_writable(run.out)
    step = plan(spec, models, on, config, data)
    store = Store(run.store)
    folder = store.run(step, announce=announce(json_only=run.json), resume=run.resume)
    result = Result.load(folder / "result")
    if run.out is not None and spec.keeps:
        with whole_folder(run.out, _kind_of(spec)) as scratch:
            shutil.copytree(folder / spec.keeps, scratch, dirs_exist_ok=True)
    elif run.out is not None:
        result.save(run.out)
    if run.json:
        print(
            json.dumps(
                {
                    "id": step.id,
                    "subject": result.subject,
                    "headline": [asdict(number) for number in result.headline],
                },
                indent=1,
            )
        )
    else:
        _print(result, folder, run)


def _kind_of(spec: catalogue.Spec) -> FolderKind:
    """What the question writes to --out: what it keeps, or its result."""
    if not spec.keeps:
        return FOLDER
    return catalogue.resolve(catalogue.FOLDERS[spec.name if spec.name in catalogue.FOLDERS else spec.keeps])


def plan(spec: catalogue.Spec, models: list[str], on: str, config: Any, data: DataOptions) -> Step:
    """The step that answers the question for what the user typed. Loads no torch."""
    from bertscope.models.source import model_root

    reads = data_input(spec)
    roots = [model_root(model) for model in models]
    read = catalogue.resolve(catalogue.ROOTS[reads])(on, **data.given())
    if spec.plan:
        return spec.plan(*roots, read, config)
    names = model_inputs(spec)
    if names == ["models"]:
        names = [f"models.{place}" for place in range(len(roots))]
    return spec.step(dict(zip(names, roots, strict=True)) | {reads: read}, config)


def announce(*, json_only: bool = False) -> Callable[[Step, bool], None]:
    """Say each step as its turn comes, on standard error."""

    def say(step: Step, stored: bool) -> None:
        if not json_only:
            print(f"{'stored ' if stored else 'running'}  {step.name:10} {describe(step)}", file=sys.stderr)

    return say


def describe(step: Step) -> str:
    """What tells a step from others of its name, in a few words."""
    settings = catalogue.spec(step.name).config_class()
    changed = {k: v for k, v in step.config.items() if _plain(getattr(settings, k)) != v}
    told = [f"{name}={value}" for name, value in changed.items()]
    return " ".join([step.id.rpartition("-")[2][:8], *told])


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _print(result: Result, folder: Path, run: RunOptions) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(result.about), title_justify="left", box=None, pad_edge=False)
    for column in ("", "value", "95% interval", "n"):
        table.add_column(column, justify="left" if not column else "right")
    for number in result.headline:
        interval = "" if number.low is None else f"{number.low:.3f} to {number.high:.3f}"
        value = f"{number.value:.3f}" if number.unit or number.value % 1 else f"{number.value:g}"
        table.add_row(
            f"{escape(number.name)} [dim]{escape(number.unit)}", value, interval, f"{number.n:,}" if number.n else ""
        )
    console = Console(highlight=False)
    console.print(table)
    for note in result.notes:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    written = f", written to {run.out}" if run.out else ""
    console.print(f"\nstored in {folder}{written}", markup=False, soft_wrap=True)
    elsewhere = "" if run.store == STORE else f" --store {run.store}"
    console.print(f"see it: bertscope report build{elsewhere}", markup=False, soft_wrap=True)
