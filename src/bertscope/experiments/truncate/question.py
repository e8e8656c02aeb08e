"""`truncate`: layers leave a model from the top, with and without training what is left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

from bertscope.core.config import check_choices, check_seeds
from bertscope.core.errors import UserError
from bertscope.core.layers import Layers
from bertscope.core.question import MODEL, MODELS, RESULTS, TASK, Question
from bertscope.core.scoring import Scoring
from bertscope.core.step import Root, Step
from bertscope.experiments.trainings import by_recipe, depth, fine_tunings, refuse_losing
from bertscope.training.finetune.question import FinetuneConfig
from bertscope.training.finetune.question import check as check_training

if TYPE_CHECKING:
    from bertscope.data.task import Task


WHOLE = "whole"
"""The arm that loses nothing."""


@dataclass(frozen=True)
class TaskHeadForm:
    """What is put on the layers that are left."""

    classifier: Literal["linear", "relu"] = "linear"
    dropout: float | None = None
    pooler: bool = True

    @property
    def key(self) -> str:
        """What tables call it.

        >>> TaskHeadForm("relu", 0.0, pooler=False).key
        'relu+dropout=0+pooler=off'
        """
        dropout = "" if self.dropout is None else f"+dropout={self.dropout:g}"
        return self.classifier + dropout + ("" if self.pooler else "+pooler=off")


@dataclass(frozen=True)
class TruncateConfig:
    """Which layers go, what is put on the rest, and how that is trained."""

    remove: tuple[str, ...] = ()
    """How many layers to remove from the top, such as `0,1,2,6`, or which ones, such as `4-6` or `2+9`; `all` tries
    every number. By default none, 1, 2 and half of them: 4 trainings for each seed. The whole model is always among
    them."""
    retrain: bool = True
    """Fine-tune what is left, from the base; --no-retrain instead removes the layers from the fine-tuned whole
    model: 1 training for each seed."""
    cross: bool = False
    """The slides' three changes, each with and without the others: the top layer, the classifier (linear, relu), and
    the dropout before it (the model's own, 0). Other flags widen it. 8 trainings for each seed."""
    classifiers: tuple[Literal["linear", "relu"], ...] = ("linear",)
    """Which classifiers to try: linear, relu (50 hidden units)."""
    dropouts: tuple[str, ...] = ("own",)
    """Which dropouts before the classifier to try: numbers, or own for the model's."""
    poolers: tuple[Literal["kept", "off"], ...] = ("kept",)
    """Whether to keep the layer between the encoder and the classifier, take it off, or try both."""
    seeds: tuple[int, ...] = (0,)
    """Run one set of trainings for each seed; 5 or more give intervals over trainings."""
    recipe: Literal["auto", "paper", "pocket"] = "auto"
    """The recipe for what isn't given below: auto goes by the model's width and the number of rows; paper and pocket
    as for finetune."""
    epochs: int | None = None
    """Passes over the training set; by default the recipe's."""
    learning_rate: float | None = None
    """The peak learning rate; by default the recipe's."""

    def __post_init__(self) -> None:
        check_seeds(self.seeds)
        check_choices(self)
        for name in ("classifiers", "poolers", "dropouts"):
            if not getattr(self, name):
                raise UserError(f"{name} has nothing in it; name one or more, or leave it out")
        for form in self.forms:
            self.training(0, Layers(), form)  # refuses what can't work
        for text in self.remove:
            if not (text == "all" or text.isdecimal()) and Layers.parse(text).embeddings | Layers.parse(text).whole:
                raise UserError(f"remove is {text!r}; only layers can go, such as 2 (from the top), 4-6 or 2+9")

    @property
    def forms(self) -> list[TaskHeadForm]:
        """Everything that is put on the layers, the plain one first where it is among them."""
        classifiers: Iterable[Any] = ("linear", "relu") if self.cross else self.classifiers
        dropouts = (*self.dropouts, "0") if self.cross else self.dropouts
        try:
            numbers = [None if text == "own" else float(text) for text in dropouts]
        except ValueError:
            raise UserError(f"dropouts are {', '.join(dropouts)}; give numbers, or own for the model's") from None
        forms = (
            TaskHeadForm(*one) for one in product(classifiers, numbers, [word == "kept" for word in self.poolers])
        )
        return list(dict.fromkeys(forms))  # 0 and 0.0 are one dropout

    def sets(self, n_layers: int) -> list[Layers]:
        """What is left out of a model of that depth, nothing first."""
        usual = ("0", "1") if self.cross else ("0", "1", "2", str(n_layers // 2))
        remove = self.remove or tuple(text for text in usual if int(text) <= n_layers)
        counts = [*map(str, range(n_layers + 1))] if "all" in remove else []
        found = [_set(text, n_layers) for text in ("0", *counts, *remove) if text != "all"]
        return list(dict.fromkeys(found))

    def training(self, seed: int, left_out: Layers, form: TaskHeadForm) -> FinetuneConfig:
        return by_recipe(
            self,
            seed=seed,
            without=str(left_out),
            classifier=form.classifier,
            dropout=form.dropout,
            pooler=form.pooler,
        )


def _set(text: str, n_layers: int) -> Layers:
    """A number counts from the top; anything else names layers."""
    if not text.isdecimal():
        return Layers.parse(text).within(n_layers)
    if int(text) > n_layers:
        raise UserError(f"{text} layers can't go: the model has {n_layers}; remove that many or fewer")
    return Layers.last(int(text), n_layers)


def plan(base: Step | Root, task: Root, config: TruncateConfig = TruncateConfig()) -> Step:  # noqa: B008 (frozen)
    """The fine-tunings, shared with whoever else needs them, and the step that compares them."""
    sets = config.sets(depth(base))
    refuse_losing(base, sets)  # also where they are only switched off: latency is that of the rest
    sets = sets if config.retrain else [Layers()]
    how = [
        config.training(seed, left_out, form) for form in config.forms for left_out in sets for seed in config.seeds
    ]
    tuned = fine_tunings(base, task, how)
    models = {} if config.retrain else {name.replace("tuned", "models"): step for name, step in tuned.items()}
    return truncate.step({"base": base, "task": task} | tuned | models, config)


def check(task: Task, config: TruncateConfig) -> None:
    """Refuse other classifiers for a task that has none."""
    for form in config.forms:
        check_training(task, config.training(0, Layers(), form))


truncate = Question(
    __name__,
    """Layers are removed from the model, the top ones or any others, and what is left is fine-tuned like the whole;
    or they are removed from the fine-tuned whole. Each is compared with the whole on the same seeds and examples:
    its score, the time of its training and of a prediction, its size. Crossed with the classifier on top, the
    dropout before it and the pooler, this shows which of these changes matters.""",
    config=TruncateConfig,
    inputs={"base": MODEL, "task": TASK, "tuned": RESULTS},
    optional={"models": MODELS},
    given={"base": MODEL, "task": TASK},
    scoring=Scoring(),
    version=4,
    main="score",
    better="higher",
    cite="the CS4650 slides on removing layers; Merchant et al. 2020, What Happens To BERT Embeddings During "
    "Fine-tuning?",
    plan=plan,
    check=check,
    columns={"arms": {"removed": "how many layers"}, "latency": {"removed": "how many layers"}},
    numbers={
        "score": "score, {arm} removed",
        "effect": "effect, {arm} removed",
        "training_time": "training time, {arm} removed",
        "chance": "constant answer",
    },
    words={
        "arm": {WHOLE: "nothing"},
        "against": {f"removed={WHOLE}": "removed=nothing", "none_of_these": "none of these"},
        "effect": {"all_at_once": "all at once"},
    },
    compared="the change of the score without the top layer",
)
