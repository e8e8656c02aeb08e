"""`untuned`: what a new classifier says on an encoder before any training. A step of `scratch`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertscope.core.catalogue import question
from bertscope.core.result import Result

if TYPE_CHECKING:
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder


@dataclass(frozen=True)
class UntunedConfig:
    """Which classifier."""

    seed: int = 0
    """Of its weights: the one with which a fine-tuning of that seed begins."""


@question(
    "untuned",
    inputs=("base", "task"),
    version=1,
    main="untuned",
    better="higher",
    cite="Kovaleva et al. 2019, Revealing the Dark Secrets of BERT, table 2",
)
def untuned(base: Encoder, task: Task, config: UntunedConfig = UntunedConfig()) -> Result:  # noqa: B008 (frozen)
    """Answer the test texts before any training.

    The array `outputs` has what a fine-tuning with this seed would start from: a classifier with random weights on
    the pretrained encoder.
    """
    from bertscope.training.task_kinds import with_task_head

    outputs = with_task_head(base, task, seed=config.seed).predict(task.test).logits
    score = task.score(outputs)
    return Result(
        "untuned",
        1,
        arrays={"outputs": outputs},
        headline=[score.named("untuned")],
        subject={"model": base.name, "task": task.name, "seed": str(config.seed)},
    )
