"""The ledger of everything that a store holds."""

from __future__ import annotations

from collections.abc import Iterable

from bertscope.core.result import result_root
from bertscope.core.step import Step
from bertscope.core.store import Store
from bertscope.study.claims.question import claims_step, questions_read
from bertscope.study.runner import run_steps


def ledger_of(store: Store, beside: Iterable[Store] = ()) -> Step | None:
    """The step that judges everything that is finished in a store, and in others beside it; None if nothing bears on
    a claim."""
    read = questions_read()
    elsewhere = [
        result_root(other.path(stored.step))
        for other in beside
        for stored in other.finished(results=True)
        if stored.step.name in read
    ]
    return claims_step((stored.step for stored in store.finished(results=True)), elsewhere)


def refresh(store: Store) -> Step | None:
    """Bring the ledger of a store up to date; None if nothing bears on it."""
    step = ledger_of(store)
    if step is not None:
        run_steps([step], store)
    return step
