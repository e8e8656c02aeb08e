"""`untuned`: what a new classifier says on an encoder before any training. A step of `scratch`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertscope.core.model_record import records
from bertscope.core.question import MODEL, TASK, Question

if TYPE_CHECKING:
    from bertscope.core.result import Result
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder


@dataclass(frozen=True)
class UntunedConfig:
    """Which classifier."""

    seed: int = 0
    """Of its weights: the one with which a fine-tuning of that seed begins."""


untuned = Question(
    __name__,
    """The array `outputs` has what a fine-tuning with this seed would start from: a classifier with random weights on
    the pretrained encoder.""",
    config=UntunedConfig,
    inputs={"base": MODEL, "task": TASK},
    version=1,
    main="untuned",
    better="higher",
    cite="Kovaleva et al. 2019, Revealing the Dark Secrets of BERT, table 2",
    numbers={"untuned": "not tuned"},
)


def measure(base: Encoder, task: Task, config: UntunedConfig) -> Result:
    from bertscope.training.task_kinds import with_task_head

    encoder = with_task_head(base, task, seed=config.seed)
    task = task.asked_of(encoder)
    predicted = encoder.predict(task.test, task.output)
    score = task.score(predicted)
    return untuned.result(
        arrays={"outputs": task.outputs(predicted)},
        headline=[score.keyed("untuned")],
        models=records([base]),
        subject={"task": task.name, "seed": str(config.seed)},
    )
