"""Run a study from Python: `run_study("demo", store="bertscope-store")`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from bertscope.core.files import check_writable
from bertscope.core.store import Store
from bertscope.study.file import Study, read_study
from bertscope.study.preflight import preflight
from bertscope.study.runner import RunOutcome, run_steps


def run_study(
    file: str | Path | Study,
    *,
    store: Store | str | Path = "bertscope-store",
    sets: Sequence[str] = (),
    workers: int = 0,
    cluster: str | None = None,
    cluster_keys: str | Path | None = None,
    resume: bool = True,
    page: Callable[[], None] | None = None,
) -> RunOutcome:
    """Answer every question of a study; what is stored already isn't computed again.

    `file` is a path, the name of a ready study, or one that `read_study` gave. `sets` changes values of it, such as
    `model=bert-base-uncased`. `page` is called when there is more to show. A step that fails takes only those with it
    that need its answer: see `failed`, `skipped` and `exit_code` of what comes back.
    """
    study = file if isinstance(file, Study) else read_study(file, sets)
    store = store if isinstance(store, Store) else Store(store)
    if not all(map(store.has, study.steps)):  # one that may only be read answers from what it has
        check_writable(store.folder / "steps")
    return run_steps(
        study.steps, store, keep_going=True, workers=workers, cluster=cluster, cluster_keys=cluster_keys,
        resume=resume, page=page, inputs=preflight(study, store),
    )  # fmt: skip
