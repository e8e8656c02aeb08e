"""`contrastive`: an encoder learns which texts belong together. A step of `contrast`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bertscope.core.catalogue import question
from bertscope.core.figure import Figure
from bertscope.core.result import Number, Result
from bertscope.training.contrasting import Contrasting
from bertscope.training.finetune.question import FinetuneConfig, Trained

if TYPE_CHECKING:
    from bertscope.core.examples import Examples
    from bertscope.data.positives import Sets
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder
    from bertscope.training.loop import History

_NARROW = 384  # hidden units under which an encoder wants a higher learning rate


@dataclass(frozen=True)
class ContrastiveConfig(Contrasting):
    """One training."""

    positives: Literal["true", "shuffled"] = "true"
    """shuffled: each text's positive is that of another: the control for what any training does."""
    keep: Literal["last", "best"] = "last"
    """Which epoch's weights to keep: the last, or the best by the validation score."""
    seed: int = 0
    """Decides the projection's first weights, the order, dropout, and how positives are shuffled."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.training(_NARROW)  # refuses what can't work

    def training(self, hidden_size: int) -> FinetuneConfig:
        """How the loop trains an encoder of that width."""
        alone = self.pairs == "unsupervised"
        rate = (3e-5 if alone else 5e-5) * (10 if hidden_size < _NARROW else 1)
        return FinetuneConfig(
            recipe="paper", epochs=(1 if alone else 3) if self.epochs is None else self.epochs,
            learning_rate=rate if self.learning_rate is None else self.learning_rate, warmup=0.0,
            batch_size=self.batch_size, keep=self.keep, seed=self.seed,
        )  # fmt: skip


def check(data: Task | Examples, config: ContrastiveConfig) -> None:
    """Refuse data that has too little that belongs together."""
    _sets(data, config)


def _sets(data: Task | Examples, config: ContrastiveConfig) -> tuple[Sets, Sets]:
    """What is trained on, and what is held out of it."""
    from bertscope.data.positives import held_out, matched

    return held_out(matched(data, config.pairs, least_score=config.least_score, sentences=config.sentences))


@question(
    "contrastive",
    inputs=("base", "data"),
    optional=("sts",),
    version=2,
    main="after",
    better="higher",
    cite="Gao et al. 2021, SimCSE: Simple Contrastive Learning of Sentence Embeddings",
    keeps="model",
    check=check,
)
def contrastive(
    base: Encoder | str,
    data: Task | Examples | str,
    sts: Task | str | None = None,
    config: ContrastiveConfig = ContrastiveConfig(),  # noqa: B008 (frozen)
    *,
    out: str | Path | None = None,
    resume: bool = True,
) -> Trained:
    """Train an encoder to tell which texts belong together.

    Cross-entropy over the cosines within a batch. A tenth of the sets (at most 1,000) is held out and followed; with
    `sts`, a task of pairs with scores, the score is how cosines follow those of its validation set. With `out`, a
    plain Hugging Face encoder is written there, and a training that was killed goes on from its last epoch.
    """
    from bertscope.data.corpus import open_data
    from bertscope.data.read import read_task
    from bertscope.models.heads import bare
    from bertscope.models.load import load
    from bertscope.training import loop
    from bertscope.training.checkpoint import Checkpoint
    from bertscope.training.contrastive_objective import Contrastive

    data = open_data(data)
    sts = read_task(sts) if isinstance(sts, str) else sts
    if sts is not None:
        sts.need_scored_pairs()
    train, validation = _sets(data, config)
    if config.positives == "shuffled":
        train = train.shuffled(config.seed)
    base = load(base) if isinstance(base, str) else base
    kind = " (shuffled)" if config.positives == "shuffled" else ""
    encoder = bare(base, name=f"{base.name} contrasted on {data.name or 'texts'}{kind}, seed {config.seed}")
    objective = Contrastive(encoder, train, validation, config, sts)
    settings = config.training(encoder.hidden_size)
    history = loop.train(encoder, objective, settings, out=None if out is None else Path(out), resume=resume)
    if out is not None:
        Checkpoint.of(Path(out)).remove()
    subject = {"model": base.name, "task": data.name or "texts", "pairs": config.pairs, "seed": str(config.seed)}
    if config.positives == "shuffled":
        subject["positives"] = "shuffled"
    notes = [*data.notes, f"{len(train):,} sets to train on, {len(validation):,} held out", *objective.notes]
    return Trained(encoder, _result(history, settings, objective.metric, subject, notes))


def _result(
    history: History, settings: FinetuneConfig, metric: str, subject: dict[str, str], notes: list[str]
) -> Result:
    import pandas as pd

    from bertscope.core.config import to_json

    epochs = pd.DataFrame(history.epochs)
    kept = history.best if settings.keep == "best" else -1
    followed = (
        "the validation set's Spearman" if metric == "spearman" else "how often a held-out text finds its positive"
    )
    return Result(
        "contrastive",
        2,
        tables={"epochs": epochs, "steps": pd.DataFrame(history.steps)},
        headline=[
            Number(name, float(row["score"]), float(row["low"]), float(row["high"]), unit=metric)
            for name, row in (("before", epochs.iloc[0]), ("after", epochs.iloc[kept]))
        ],
        figures=[
            Figure(
                "lines", "epochs", x="epoch", y="score", low="low", high="high", title="Learning curve",
                caption=f"After each epoch, {followed}, with its 95% bootstrap interval; epoch 0 is before any "
                "training.",
                labels={"score": metric}, rules={"chance": history.chance},
            ),
            Figure(
                "lines", "steps", x="step", y="loss", title="Training loss",
                caption="The mean contrastive loss over the steps since the last point, dropout on.",
            ),
        ],
        subject=subject,
        notes=notes,
        provenance={"settings": to_json(settings), "training_seconds": history.seconds},
    )  # fmt: skip
