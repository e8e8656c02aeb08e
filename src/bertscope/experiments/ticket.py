"""`ticket`: one subnetwork, scored as it is and after training it from the start. A step of `lottery`."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bertscope.core.catalogue import question
from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.result import Number, Result
from bertscope.experiments.subnetworks import ARMS, Arm, Subnetwork, draw, only, parts, share_left, trainable
from bertscope.training.finetune import FinetuneConfig, Trained

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.examples import Examples
    from bertscope.data.task import Scores, Task
    from bertscope.models.encoder import Encoder


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
        if self.arm not in ARMS:
            raise UserError(f"unknown subnetwork {self.arm!r}; {did_you_mean(self.arm, ARMS)}")

    @property
    def training(self) -> FinetuneConfig:
        return FinetuneConfig(
            recipe=self.recipe, epochs=self.epochs, learning_rate=self.learning_rate, seed=self.seed,
            init="random" if self.arm == "reinit" else "pretrained",
        )  # fmt: skip


@question(
    "ticket",
    inputs=("base", "task", "model", "pruned"),
    optional=("hans",),
    version=1,
    main="retrained",
    better="higher",
    cite="Prasanna et al. 2020, When BERT Plays the Lottery, All Tickets Are Winning",
    keeps="model",
)
def ticket(
    base: Encoder,
    task: Task,
    model: Encoder,
    pruned: Sequence[Result],
    hans: Examples | None = None,
    config: TicketConfig = TicketConfig(),  # noqa: B008 (frozen)
    *,
    out: str | Path | None = None,
) -> Trained:
    """Train a subnetwork from the pretrained weights.

    `pruned` are the results of `prune`: of one seed, or of all of them for the super-survivors and their controls.
    The subnetwork is scored as it is in the fine-tuned `model`, and after the same fine-tuning of `base` with the
    mask held from the first step to the last.
    """
    from bertscope.models.heads import with_classifier
    from bertscope.training.checkpoint import Checkpoint
    from bertscope.training.loop import train

    out = None if out is None else Path(out)
    subnetwork = draw(config.arm, [Subnetwork.of(found) for found in pruned], model, config.seed)
    scored = _Scored(task, hans)
    if config.arm == "good":
        scored.add("full", model)
    if config.arm != "reinit":
        with only(model, subnetwork) as smaller:
            scored.add("pruned", smaller)
    settings = config.training.settled(base.hidden_size)
    name = f"{config.arm} ticket of {base.name} on {task.name}"
    fresh = with_classifier(
        base, task.labels, init=settings.init, seed=settings.seed, name=name, tuned_on=task.fingerprint
    )
    with trainable(fresh, subnetwork) as ready:
        history = train(ready, task, settings, out=out, resume=True)
        scored.add("retrained", ready)
    if out is not None:
        Checkpoint.of(out).remove()
        if not config.keep_models:
            shutil.rmtree(out)
    return Trained(ready, _result(base, task, model, config, subnetwork, scored, history.epochs))


class _Scored:
    """What each stage of a ticket puts out for the report split, and for HANS where it is given."""

    def __init__(self, task: Task, hans: Examples | None) -> None:
        self.task, self.hans = task, hans
        self.outputs: dict[str, Any] = {}
        self.scores: dict[str, Scores] = {}
        self.heuristics: list[dict[str, Any]] = []
        if hans is not None and "entailment" not in task.labels:
            raise UserError(f"HANS needs a task with the label entailment; {task.name} has {', '.join(task.labels)}")

    def add(self, stage: str, encoder: Encoder) -> None:
        order, _ = self.task.match_labels(encoder.labels)
        self.outputs[stage] = encoder.predict(self.task.report).logits[:, order]
        self.scores[stage] = self.task.score(self.outputs[stage])
        if self.hans is not None:
            self.heuristics += _heuristics(stage, encoder.predict(self.hans).logits[:, order], self.task, self.hans)


def _heuristics(stage: str, logits: Any, task: Task, hans: Examples) -> list[dict[str, Any]]:
    """Accuracy on HANS's two halves; whatever isn't entailment (neutral, contradiction) is non-entailment there."""
    import numpy as np

    from bertscope.core.statistics import bootstrap_interval

    says = (logits.argmax(-1) != task.labels.index("entailment")).astype(int)
    rows = []
    for place, label in enumerate(("entailment", "non-entailment")):
        at = hans.label == place
        hits = (says[at] == place).astype(float)[:, None]
        low, high = bootstrap_interval(lambda means: means[..., 0], hits)
        rows.append({"stage": stage, "label": label, "accuracy": float(np.mean(hits)), "low": low, "high": high})
    return rows


def _result(
    base: Encoder,
    task: Task,
    model: Encoder,
    config: TicketConfig,
    subnetwork: Subnetwork,
    scored: _Scored,
    epochs: list[dict[str, float]],
) -> Result:
    import pandas as pd

    tables = {
        "scores": pd.DataFrame(
            {"stage": stage, "metric": score.metric, "score": score.value, "low": score.low, "high": score.high,
             "n": score.n}
            for stage, score in scored.scores.items()
        ),
        "epochs": pd.DataFrame(epochs),
    }  # fmt: skip
    if subnetwork.method == "s":
        tables["parts"] = _parts(model, subnetwork)
    if scored.heuristics:
        tables["hans"] = pd.DataFrame(scored.heuristics)
    size = share_left(model, subnetwork)
    return Result(
        "ticket",
        1,
        tables=tables,
        arrays=dict(scored.outputs),
        headline=[
            Number("left", size, unit="share of the blocks' weights"),
            *(Number(name, one.value, one.low, one.high, one.n, one.metric) for name, one in scored.scores.items()),
        ],
        subject={
            "model": base.name, "task": task.name, "method": subnetwork.method, "arm": config.arm,
            "seed": str(config.seed),
        },
        notes=[*task.notes],
    )  # fmt: skip


def _parts(model: Encoder, subnetwork: Subnetwork) -> pd.DataFrame:
    import pandas as pd

    units = parts(model)
    return pd.DataFrame({"unit": map(str, units), "kind": [unit.kind for unit in units], "kept": subnetwork.kept})
