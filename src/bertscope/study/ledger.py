"""The ledger of everything that a store holds."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from bertscope.core.lineage import newest
from bertscope.core.result import result_root
from bertscope.core.step import Step
from bertscope.core.store import Store
from bertscope.study.claims.question import claims_step, questions_read
from bertscope.study.runner import run_steps


def ledger_of(store: Store, beside: Iterable[Store] = ()) -> Step | None:
    """The step that judges everything that is finished in a store, and in others beside it; None if nothing bears on
    a claim. What two stores hold, or two versions of a question answered, is one result, and is judged once: the one
    of the newest version."""
    read = questions_read()
    found = newest(chain.from_iterable(one.finished(results=True) for one in (store, *beside)))
    elsewhere = (one for one in found if one.folder != store.path(one.step))
    return claims_step(
        (one.step for one in found if one.folder == store.path(one.step)),
        [result_root(one.folder) for one in elsewhere if one.step.name in read],
    )


def refresh(store: Store) -> Step | None:
    """Bring the ledger of a store up to date; None if nothing bears on it."""
    step = ledger_of(store)
    if step is not None:
        run_steps([step], store)
    return step
