"""`ticket`: one subnetwork, scored as it is and after training it from the start. A step of `lottery`."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bertscope.core.config import check_known, to_json
from bertscope.core.errors import UserError
from bertscope.core.model_record import DataRecord, Origin, records
from bertscope.core.number import Number
from bertscope.core.question import EXAMPLES, MODEL, RESULTS, TASK, Question
from bertscope.core.result import Result
from bertscope.experiments.subnetworks import ARMS, EVERY_SEED, Arm, Subnetwork, draw, only, share_left, trainable
from bertscope.experiments.trainings import by_recipe
from bertscope.training.finetune.question import FinetuneConfig

if TYPE_CHECKING:
    import numpy as np

    from bertscope.core.examples import Examples
    from bertscope.core.predictions import Predictions
    from bertscope.data.scored import Scores
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder
    from bertscope.training.history import History, Trained

HANS = ("entailment", "non-entailment")
"""Its labels, in their order."""


@dataclass(frozen=True)
class TicketConfig:
    """Which subnetwork, and how it is trained: as the full model was."""

    arm: Arm = "good"
    """good, random, bad: as in the paper; reinit: good on new weights; super, never, any: of all seeds' survivors."""
    seed: int = 0
    """Of the drawing and of the training; the full model's."""
    recipe: Literal["auto", "paper", "pocket"] = "auto"
    """As for `finetune`."""
    epochs: int | None = None
    """As for `finetune`."""
    learning_rate: float | None = None
    """As for `finetune`."""
    keep_models: bool = False
    """Keep the retrained model beside the result."""

    def __post_init__(self) -> None:
        check_known("subnetwork", self.arm, ARMS)
        self.training  # refuses what can't work  # noqa: B018

    @property
    def training(self) -> FinetuneConfig:
        return by_recipe(self, seed=self.seed, init="random" if self.arm == "reinit" else "pretrained")


ticket = Question(
    __name__,
    """`pruned` are the results of `prune`: of one seed, or of all of them for the super-survivors and their controls.
    The subnetwork is scored as it is in the fine-tuned `model`, and after the same fine-tuning of `base` with the
    mask held from the first step to the last.""",
    config=TicketConfig,
    inputs={"base": MODEL, "task": TASK, "model": MODEL, "pruned": RESULTS},
    optional={"hans": EXAMPLES},
    version=2,
    main="score",
    better="higher",
    numbers={"score": "{stage}", "left": "left", "shared": "shared"},
    cite="Prasanna et al. 2020, When BERT Plays the Lottery, All Tickets Are Winning",
    keeps="model",
)


def measure(
    base: Encoder,
    task: Task,
    model: Encoder,
    pruned: Sequence[Result],
    config: TicketConfig,
    hans: Examples | None = None,
    *,
    out: str | Path | None = None,
    resume: bool = True,
) -> Trained:
    from bertscope.training.history import Trained

    if config.keep_models and base.shares_blocks:
        raise UserError(
            f"{base.name} can't be kept pruned: it has one block for many layers, and a cut in one would be a cut in "
            "all; leave out --keep-models"
        )
    found = [Subnetwork.of(one) for one in pruned]
    subnetwork = draw(config.arm, found, model, config.seed)
    scored = _Scored(task, hans)
    whole = task.asked_of(model)
    if config.arm == "good":
        scored.add("full", model, whole)
    if config.arm != "reinit":
        with only(model, subnetwork) as smaller:
            scored.add("pruned", smaller, whole)
    folder = None if out is None else Path(out)
    retrained, history = _retrained(base, task, subnetwork, scored, config, folder, resume)
    best = draw("super" if config.arm in EVERY_SEED else "good", found, model, config.seed)
    shared = (subnetwork.kept & best.kept).sum() / max(1, subnetwork.kept.sum())
    size = [
        Number("left", share_left(model, subnetwork), unit="share of the blocks' weights"),
        Number("shared", float(shared), unit="share of its parts that survived"),
    ]
    return Trained(retrained, _result(base, task, config, subnetwork, size, scored, history))


def _retrained(
    base: Encoder,
    task: Task,
    subnetwork: Subnetwork,
    scored: _Scored,
    config: TicketConfig,
    out: Path | None,
    resume: bool,
) -> tuple[Encoder, History]:
    """The subnetwork after the training, which is scored, and what happened."""
    from bertscope.training.checkpoint import Checkpoint
    from bertscope.training.loop import train
    from bertscope.training.objective import Labelled
    from bertscope.training.task_kinds import has_new_head, with_task_head

    settings = config.training.settled(base.hidden_size, len(task.train), new_head=has_new_head(task))
    name = f"{config.arm} ticket of {base.name} on {task.name}"
    learned = DataRecord(task.fingerprint, task.name, task.kind, task.labels)
    origin = Origin(ticket.name, base.record, learned, settings.seed, settings.init, to_json(config))
    fresh = with_task_head(base, task, init=settings.init, seed=settings.seed, name=name, origin=origin)
    with trainable(fresh, subnetwork) as ready:
        history = train(ready, Labelled(ready, task), settings, out=out, resume=resume)
        scored.add("retrained", ready, task.asked_of(ready))
    if out is not None:
        Checkpoint.of(out).remove()
        if not config.keep_models:
            shutil.rmtree(out)
    return ready, history


class _Scored:
    """What each stage of a ticket puts out for the test set, and for HANS where it is given."""

    def __init__(self, task: Task, hans: Examples | None) -> None:
        self.task, self.hans = task, hans
        self.outputs: dict[str, Any] = {}
        self.scores: dict[str, Scores] = {}
        if hans is not None:
            if "entailment" not in task.labels:
                raise UserError(
                    f"HANS needs a task with the label entailment; {task.name} has {', '.join(task.labels)}"
                )
            self.outputs["hans_labels"] = hans.label

    def add(self, stage: str, encoder: Encoder, asked: Task) -> None:
        """`asked` is the task as the model is asked that decides for this stage: without some parts the whole one,
        else itself."""
        from bertscope.training.told import kept_outputs

        predicted = encoder.predict(asked.test, asked.output)
        self.outputs |= kept_outputs(self.task, asked, predicted, stage)
        self.scores[stage] = asked.score(predicted)
        if self.hans is not None:
            self.outputs[f"hans_{stage}"] = _right_on_hans(encoder.predict(self.hans), self.task, self.hans)


def _right_on_hans(predicted: Predictions | np.ndarray, task: Task, hans: Examples) -> np.ndarray:
    """Whether each answer is right; whatever isn't entailment (neutral, contradiction) is non-entailment there."""
    import numpy as np

    denies = task.outputs_to_predictions(predicted) != task.labels.index("entailment")
    return (denies == np.asarray(hans.label, bool)).astype(np.uint8)


def _result(
    base: Encoder,
    task: Task,
    config: TicketConfig,
    subnetwork: Subnetwork,
    size: list[Number],
    scored: _Scored,
    history: History,
) -> Result:
    import pandas as pd

    tables = {
        "scores": pd.DataFrame({"stage": stage, **score.row} for stage, score in scored.scores.items()),
        "epochs": pd.DataFrame(history.epochs),
    }
    return ticket.result(
        tables=tables,
        arrays=dict(scored.outputs),
        headline=[*(scored.scores[stage].keyed("score", stage=stage) for stage in reversed(scored.scores)), *size],
        models=records([base]),
        subject={
            "task": task.name, "method": subnetwork.method, "arm": config.arm,
            "seed": str(config.seed),
        },
        notes=[*task.notes, *history.notes],
    )  # fmt: skip
