"""The ledger of everything that a store holds."""

from __future__ import annotations

from bertscope.core.step import Step
from bertscope.core.store import Store
from bertscope.study.claims.question import claims_step
from bertscope.study.runner import run_steps


def ledger_of(store: Store) -> Step | None:
    """The step that judges everything that is finished in a store; None if nothing bears on a claim."""
    return claims_step(stored.step for stored in store.finished(results=True))


def refresh(store: Store) -> Step | None:
    """Bring the ledger of a store up to date; None if nothing bears on it."""
    step = ledger_of(store)
    if step is not None:
        run_steps([step], store)
    return step
