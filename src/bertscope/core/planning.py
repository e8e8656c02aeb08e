"""What a question is asked of, and the step that asks it: what a command and a study's line have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertscope.core import registry
from bertscope.core.errors import UserError
from bertscope.core.inputs import Inputs
from bertscope.core.question import Question
from bertscope.core.step import Root, Step, graph

if TYPE_CHECKING:
    from bertscope.core.result import Result
    from bertscope.core.store import Store


def ask(
    question: Question,
    named: Sequence[Step | Root],
    data: Root | None,
    config: Any,
    beside: Mapping[str, Step | Root],
) -> Step:
    """The step that answers the question for these models or results and this data. Loads no torch."""
    if question.plan:
        return question.plan(*named, *([] if data is None else [data]), config, **beside)
    names = question.named
    if question.takes_several:
        names = [f"{names[0]}.{place}" for place in range(len(named))]
    read = {} if data is None or question.reads is None else {question.reads: data}
    return question.step(dict(zip(names, named, strict=True)) | read | dict(beside), config)


def planned(
    question: Question,
    named: Sequence[str],
    on: str,
    config: Any,
    reading: Mapping[str, Any],
    beside: Mapping[str, str | None],
) -> Step:
    """The step that answers the question for what the user named: models or results, data and how it is read."""
    asked_of = question.asked_of
    roots = [root(asked_of[question.named[0]].kind, source) for source in named]
    data = root(asked_of[question.reads].kind, on, **reading) if question.reads else None
    further = {
        name: _further_root(question.flags[name].kind, source, reading) for name, source in beside.items() if source
    }
    return ask(question, roots, data, config, further)


def root(kind: str, source: str, /, **reading: Any) -> Root:
    """The identity of what a user names."""
    return registry.resolve(registry.KINDS[kind].root)(source, **reading)


def _further_root(kind: str, source: str, reading: Mapping[str, Any]) -> Root:
    """A stored result, or a corpus, of which as much is said as of the first one."""
    if kind == "result":
        return root(kind, source)
    return registry.resolve(registry.SERVICES["second corpus"])(source, **reading)


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

    about = registry.find(question)
    for given in (*named, on):
        if not isinstance(given, (str, Path)):
            raise UserError(f"answer takes the names and paths of models and data, not {type(given).__name__}")
    if not named or (not about.takes_several and len(named) != len(about.named)):
        raise UserError(f"{question} is asked of {', '.join(about.named)}; {len(named)} given")
    if bool(on) != bool(about.reads):
        raise UserError(
            f"{question} {'needs data: give on=' if about.reads else 'reads results alone; leave out on='}"
        )
    if reading and not about.reads:
        raise UserError(f"{question} reads results alone; leave out {next(iter(reading))}=")
    if not isinstance(config, (about.config, type(None))):
        raise UserError(f"{question} takes config={about.config.__name__}(...), not {config!r}")
    beside = {name: reading.pop(name) for name in about.flags if name in reading}
    step = planned(about, list(map(str, named)), str(on), config or about.config(), reading, beside)
    store = store if isinstance(store, Store) else Store(store)
    inputs, steps = Inputs(store.path), graph([step], store.has)
    inputs.preflight(one for one in steps.values() if not store.has(one))
    store.run(step, inputs=inputs)
    return store.result(step)
