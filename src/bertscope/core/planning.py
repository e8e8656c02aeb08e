"""What a question is asked of, and the step that asks it: what a command and a study's line have in common."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertscope.core.catalogue import INPUT_KINDS, ROOTS, Spec, resolve, spec
from bertscope.core.errors import UserError
from bertscope.core.inputs import Inputs
from bertscope.core.step import Root, Step

if TYPE_CHECKING:
    from bertscope.core.result import Result
    from bertscope.core.store import Store

SEVERAL = ("models", "lotteries", "results")
"""Inputs of which there may be many."""
BESIDE = ("train", "against", "pruned")
"""What a question can be given, by name, beside what it must have: other corpora, a stored result."""


def named_inputs(spec: Spec) -> list[str]:
    """What the user names one after the other: models, or results. What reads hidden states reads any number of
    models'; an experiment has one base."""
    models = [name for name in spec.inputs if INPUT_KINDS[name] == "model"]
    if models or "states" in spec.inputs:
        return models or ["models"]
    if spec.plan is not None:
        return ["base"]
    return [name for name in spec.inputs if INPUT_KINDS[name] == "result"]


def data_input(spec: Spec) -> str | None:
    """What the question reads: a task, any texts, or either; None if it reads results alone. Where an experiment's
    trainings read it and the question itself doesn't, the plan has it."""
    names = [*spec.inputs, *(inspect.signature(spec.plan).parameters if spec.plan else ())]
    return next((name for name in ("examples", "data", "task") if name in names), None)


def beside_inputs(spec: Spec) -> list[str]:
    """Those of `BESIDE` that this question takes."""
    return [name for name in spec.optional if name in BESIDE]


def ask(
    spec: Spec, named: Sequence[Step | Root], read: Root | None, config: Any, beside: Mapping[str, Step | Root]
) -> Step:
    """The step that answers the question for these models or results and this data. Loads no torch."""
    names, reads = named_inputs(spec), data_input(spec)
    data = {} if reads is None or read is None else {reads: read}
    if spec.plan:
        return spec.plan(*named, *data.values(), config, **beside)
    if names[0] in SEVERAL:
        names = [f"{names[0]}.{place}" for place in range(len(named))]
    return spec.step(dict(zip(names, named, strict=True)) | data | dict(beside), config)


def planned(
    spec: Spec,
    named: Sequence[str],
    on: str,
    config: Any,
    reading: Mapping[str, Any],
    beside: Mapping[str, str | None],
) -> Step:
    """The step that answers the question for what the user named: models or results, data and how it is read."""
    reads = data_input(spec)
    root = resolve(ROOTS[INPUT_KINDS[named_inputs(spec)[0]]])
    roots = [root(source) for source in named]
    read = resolve(ROOTS[reads])(on, **reading) if reads else None
    further = {name: _further_root(name, source, reading) for name, source in beside.items() if source}
    return ask(spec, roots, read, config, further)


def _further_root(name: str, source: str, reading: Mapping[str, Any]) -> Root:
    """A stored result, or a corpus, of which as much is said as of the first one."""
    if INPUT_KINDS[name] == "result":
        return resolve(ROOTS["result"])(source)
    return resolve("bertscope.data.corpus:second_root")(source, **reading)


def answer(
    question: str,
    *named: str | Path,
    on: str | Path = "",
    config: Any = None,
    store: Store | str | Path = "bertscope-store",
    **reading: Any,
) -> Result:
    """What the command of that name answers, found in the store or computed and kept there.

    `answer("lottery", "pocket", on="demo/sentiment", config=LotteryConfig(seeds=(0, 1)), limit=200)` is `bertscope
    lottery pocket --on demo/sentiment --seeds 0 1 --limit 200`: `named` are models (or results), `reading` is how
    the data is read, as for `read_task`, and what the question can be given beside it (`train`, `against`, `pruned`).
    """
    from bertscope.core.store import Store

    about = spec(question)
    names, reads = named_inputs(about), data_input(about)
    for given in (*named, on):
        if not isinstance(given, (str, Path)):
            raise UserError(f"answer takes the names and paths of models and data, not {type(given).__name__}")
    if not named or (names[0] not in SEVERAL and len(named) != len(names)):
        raise UserError(f"{question} is asked of {', '.join(names)}; {len(named)} given")
    if bool(on) != bool(reads):
        raise UserError(f"{question} {'needs data: give on=' if reads else 'reads results alone; leave out on='}")
    if reading and not reads:
        raise UserError(f"{question} reads results alone; leave out {next(iter(reading))}=")
    if not isinstance(config, (about.config_class, type(None))):
        raise UserError(f"{question} takes config={about.config_class.__name__}(...), not {config!r}")
    beside = {name: reading.pop(name) for name in beside_inputs(about) if name in reading}
    step = planned(about, list(map(str, named)), str(on), config or about.config_class(), reading, beside)
    store = store if isinstance(store, Store) else Store(store)
    inputs, steps = Inputs(store.path), resolve("bertscope.study.graph:graph")([step], store.has)
    inputs.preflight(one for one in steps.values() if not store.has(one))
    store.run(step, inputs=inputs)
    return store.result(step)
