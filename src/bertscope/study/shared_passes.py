"""Which steps are made together: questions about attention that may read the same texts share a pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bertscope.core import registry
from bertscope.core.files import canonical_json
from bertscope.core.step import Root, Step

Job = tuple[Step, ...]
"""What is made at once: a step, or several in one pass."""


def jobs(ready: Sequence[Step], later: Iterable[Step]) -> list[Job]:
    """The ready steps as jobs, in their order; last those that some of the `later` steps could join."""
    joined: dict[str, list[Step]] = {}
    for step in ready:
        joined.setdefault(_texts(step) or step.id, []).append(step)
    awaited = {_texts(step) for step in later}
    return sorted((tuple(steps) for steps in joined.values()), key=lambda job: _texts(job[0]) in awaited - {None})


def _texts(step: Step) -> str | None:
    """The texts that a question about attention reads, and how; None for any other step, and one that reads none."""
    if not registry.find(step.name).shares_pass:
        return None
    read = [value for name, value in step.inputs.items() if name in ("examples", "data")]
    texts = [[root.digest, dict(root.options)] for root in read if isinstance(root, Root)]
    if not texts:  # it adds up what its shards kept
        return None
    return canonical_json([texts, step.config["weighted"]])
