"""`finetune`: an encoder and a task in, a fine-tuned encoder and its learning curve out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bertscope.core.catalogue import question
from bertscope.core.config import check_choices, check_least
from bertscope.core.errors import UserError
from bertscope.core.figure import Figure
from bertscope.core.layers import Layers
from bertscope.core.result import Result

if TYPE_CHECKING:
    from bertscope.data.task import Scores, Task
    from bertscope.models.encoder import Encoder
    from bertscope.training.loop import History


@dataclass(frozen=True)
class FinetuneConfig:
    """How to train. What is None comes from the recipe."""

    recipe: Literal["auto", "paper", "pocket"] = "auto"
    """Epochs, learning rate and warm-up where they aren't given. paper: 3, 2e-5 and none, as for bert-base; pocket:
    4, 3e-4 and 10%, for small encoders; auto: pocket under 384 hidden units, else paper."""
    epochs: int | None = None
    """How often the training set is gone through; by default what the recipe says."""
    learning_rate: float | None = None
    """The highest learning rate, from which it decays linearly to 0; by default what the recipe says."""
    warmup: float | None = None
    """The share of all steps over which the learning rate rises; by default what the recipe says."""
    weight_decay: float = 0.0
    """AdamW's weight decay; biases and LayerNorm are spared."""
    batch_size: int = 32
    """Examples per step."""
    clip: float = 1.0
    """The largest gradient norm."""
    init: Literal["pretrained", "random"] = "pretrained"
    """random: draw all weights anew, as a control for what pre-training gave."""
    keep: Literal["last", "best"] = "last"
    """Which epoch's weights to keep: the last, or the best on the validation set."""
    without: str = ""
    """Layers left out before the training: `12`, `11-12`, `3,7-9`."""
    classifier: Literal["linear", "relu"] = "linear"
    """linear: the family's own; relu: its last map becomes two, with 50 hidden units and a ReLU between them."""
    pooler: bool = True
    """Whether the dense layer that the family has before its last map stays; --no-pooler takes it off, so that the
    map reads the first token's last state."""
    dropout: float | None = None
    """The dropout before the classifier's last map; by default the model's own."""
    frozen: str = ""
    """What isn't trained: `embeddings`, layers such as `1-8`, both as `embeddings,1-8`, or `encoder` for all that is
    under the pooler and the classifier."""
    frozen_dropout: bool = False
    """Whether frozen layers still have dropout while the others train. Without it, frozen layers that have nothing
    trained under them are run once, and every epoch reads what they put out."""
    seed: int = 0
    """Decides the new classifier's weights, the order of the examples, and dropout."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_least(self, seed=0, epochs=1, learning_rate=0, weight_decay=0, batch_size=1, clip=0)
        for name in ("warmup", "dropout"):
            if (value := getattr(self, name)) is not None and not 0 <= value <= 1:
                raise UserError(f"{name} is {value}; it must be between 0 and 1")
        if self.left_out.embeddings or self.left_out.whole:
            raise UserError(f"without is {self.without!r}; only layers can be left out, such as 11-12")
        for name, layers in (("without", self.left_out), ("frozen", self.held)):
            object.__setattr__(self, name, str(layers))  # one text for one set: it is part of a step's identity

    @property
    def left_out(self) -> Layers:
        return Layers.parse(self.without)

    @property
    def held(self) -> Layers:
        """What is frozen."""
        return Layers.parse(self.frozen)

    def settled(self, hidden_size: int) -> FinetuneConfig:
        """This config with every None filled in from the recipe that suits an encoder of that width."""
        from dataclasses import replace

        recipe = self.recipe if self.recipe != "auto" else "pocket" if hidden_size < 384 else "paper"
        chosen = {name: value for name, value in RECIPES[recipe].items() if getattr(self, name) is None}
        return replace(self, recipe=recipe, **chosen)


RECIPES: dict[str, dict[str, Any]] = {
    "paper": {"learning_rate": 2e-5, "epochs": 3, "warmup": 0.0},
    "pocket": {"learning_rate": 3e-4, "epochs": 4, "warmup": 0.1},
}


@dataclass(frozen=True)
class Trained:
    encoder: Encoder
    result: Result


def check(task: Task, config: FinetuneConfig) -> None:
    """Refuse another classifier for a task that has none."""
    asked = config.classifier != "linear" or not config.pooler or config.dropout is not None
    if asked and task.kind in ("spans", "trees"):
        raise UserError(
            f"classifier, pooler and dropout are for tasks with labels or scores; {task.name} is answered by "
            f"{task.kind}: leave them out"
        )


@question(
    "finetune",
    inputs=("base", "task"),
    version=2,
    main="after",
    better="higher",
    cite="Devlin et al. 2019, BERT: Pre-training of Deep Bidirectional Transformers",
    keeps="model",
    check=check,
)
def finetune(
    base: Encoder | str,
    task: Task | str,
    config: FinetuneConfig = FinetuneConfig(),  # noqa: B008 (frozen)
    *,
    out: str | Path | None = None,
    resume: bool = True,
) -> Trained:
    """Train an encoder on a task.

    What the task needs is put on a copy of `base` (a classifier or regressor, a head for spans, a parser) and the
    whole of it is trained on the task's training set; the validation set is scored after each epoch and the test set
    before and after. Layers can be left out before, or frozen. With `out`, a plain Hugging Face folder is written
    there, and a training that was killed goes on from its last epoch (`resume=False` starts over). The result's array
    `outputs` has the tuned model's outputs for the test set.
    """
    from bertscope.data.read import read_task
    from bertscope.models.load import load
    from bertscope.models.surgery import without_layers
    from bertscope.models.task_heads import ClassifierForm
    from bertscope.training.checkpoint import Checkpoint
    from bertscope.training.loop import train
    from bertscope.training.task_kinds import objective_of, with_task_head

    if isinstance(task, str):
        task = read_task(task)
    check(task, config)
    base = base if not isinstance(base, str) else load(base)
    settings = config.settled(base.hidden_size)
    origin = base.name if config.init == "pretrained" else f"{base.name} (random init)"
    name = f"{origin} tuned on {task.name}"
    if left_out := config.left_out.within(base.n_layers).numbers:
        base = without_layers(base, left_out)
    form = ClassifierForm(config.classifier, config.pooler)
    encoder = with_task_head(
        base, task, init=config.init, seed=config.seed, name=name, form=form, dropout=config.dropout
    )
    before = task.score(encoder.predict(task.test).logits)
    objective = objective_of(encoder, task)
    history = train(encoder, objective, settings, out=None if out is None else Path(out), resume=resume)
    predictions = encoder.predict(task.test)
    after = task.score(predictions.logits)
    result = _result(origin, task, settings, before, after, history)
    result.provenance |= _sizes(encoder, settings)
    result.arrays["outputs"] = predictions.logits
    result.notes += objective.notes
    if predictions.truncated:
        result.notes.append(
            f"{predictions.truncated} test texts are longer than {encoder.max_length} tokens and were cut"
        )
    if out is not None:
        Checkpoint.of(Path(out)).remove()
    return Trained(encoder, result)


def _sizes(encoder: Encoder, settings: FinetuneConfig) -> dict[str, int]:
    """How many parameters there are, and how many of them were trained."""
    from bertscope.training.frozen import frozen

    with frozen(encoder, settings.held):
        sizes = [(parameter.numel(), parameter.requires_grad) for parameter in encoder.model.parameters()]
    return {
        "parameters": sum(size for size, _ in sizes),
        "trained_parameters": sum(size for size, trained in sizes if trained),
    }


def _changed(settings: FinetuneConfig) -> dict[str, str]:
    """What tells this training from a plain one, in a result's subject."""
    plain = FinetuneConfig()
    told = ("without", "classifier", "pooler", "dropout", "frozen", "frozen_dropout")
    return {name: str(value) for name in told if (value := getattr(settings, name)) != getattr(plain, name)}


def _result(
    origin: str, task: Task, settings: FinetuneConfig, before: Scores, after: Scores, history: History
) -> Result:
    import pandas as pd

    from bertscope.core.config import to_json
    from bertscope.data.baselines import baselines

    without_model = {name: task.score(outputs) for name, outputs in baselines(task).items()}
    arms = without_model | {"before": before, "after": after}
    beside = [
        {"arm": name, "metric": metric, "score": value}
        for name, score in arms.items()
        for metric, value in score.secondary.items()
    ]
    return Result(
        "finetune",
        2,
        tables={
            "scores": pd.DataFrame([{"arm": name, **score.row} for name, score in arms.items()]),
            "epochs": pd.DataFrame(history.epochs),
            "steps": pd.DataFrame(history.steps),
            "beside": pd.DataFrame(beside),
        },
        headline=[score.named(name) for name, score in arms.items()][::-1],
        figures=_figures(task, history.chance),
        subject={"model": origin, "task": task.name, "seed": str(settings.seed)} | _changed(settings),
        notes=[*task.notes],
        provenance={
            "settings": to_json(settings), "training_seconds": history.seconds,
            "activation_bytes": history.activations, "peak_bytes": history.peak,
        },
    )  # fmt: skip


def _figures(task: Task, chance: float) -> list[Figure]:
    words = {"score": task.metric, "step": "step", "loss": "loss on the training set", "epoch": "epoch"}
    return [
        Figure(
            "lines", "epochs", x="epoch", y="score", low="low", high="high", title="Learning curve",
            caption=f"The validation set's {task.metric} after each epoch, with its 95% bootstrap interval over "
            "examples; epoch 0 is before any training. The dashed rule is an answer without looking at the text.",
            labels=words, rules={task.blind: chance},
        ),
        Figure(
            "lines", "steps", x="step", y="loss", title="Training loss",
            caption="The mean loss over the steps since the last point, dropout on.", labels=words,
        ),
    ]  # fmt: skip
