"""Which steps a run made."""

from __future__ import annotations

from bertscope.core.step import Step
from bertscope.core.store import Store
from bertscope.study.runner import run_steps


def made_by(step: Step, store: Store) -> list[str]:
    """Run the step; the names of those that had to be made for it, in their order."""
    return [name.rpartition("-")[0] for name in run_steps([step], store).done]
