"""A question asked from Python, and answered as its command answers it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bertscope.core import registry
from bertscope.core.errors import UserError
from bertscope.core.planning import planned
from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.study.runner import run_steps


def answer(
    question: str,
    *named: str | Path,
    on: str | Path = "",
    config: Any = None,
    store: Store | str | Path = "bertscope-store",
    base: str | Path | None = None,
    **reading: Any,
) -> Result:
    """What the command of that name answers, found in the store or computed and kept there.

    `answer("lottery", "pocket", on="demo/sentiment", config=LotteryConfig(seeds=(0, 1)), limit=200)` is `bertscope
    lottery pocket --on demo/sentiment --seeds 0 1 --limit 200`: `named` are models (or results), `reading` is how
    the data is read, as for `read_task`, and what the question can be given beside it (`train`, `against`, `pruned`).
    `base` is what models were fine-tuned from of which that isn't recorded.
    """
    known = registry.find(question)
    for given in (*named, on):
        if not isinstance(given, (str, Path)):
            raise UserError(f"answer takes the names and paths of models and data, not {type(given).__name__}")
    if not named or (not known.takes_several and len(named) != len(known.named)):
        raise UserError(f"{question} is asked of {', '.join(known.named)}; {len(named)} given")
    if bool(on) != bool(known.reads):
        raise UserError(
            f"{question} {'needs data: give on=' if known.reads else 'reads results alone; leave out on='}"
        )
    if reading and not known.reads:
        raise UserError(f"{question} reads results alone; leave out {next(iter(reading))}=")
    if not isinstance(config, (known.config, type(None))):
        raise UserError(f"{question} takes config={known.config.__name__}(...), not {config!r}")
    beside = {name: reading.pop(name) for name in known.flags if name in reading}
    step = planned(
        known, list(map(str, named)), str(on), config or known.config(), reading, beside, str(base) if base else None
    )
    store = store if isinstance(store, Store) else Store(store)
    run_steps([step], store)
    return store.result(step)
