"""`freeze`: parts of the encoder keep their pretrained weights while the rest is fine-tuned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bertscope.analyses.states.question import state_steps
from bertscope.core.config import check_least, check_seeds
from bertscope.core.errors import UserError
from bertscope.core.layers import EMBEDDINGS, ENCODER, Layers
from bertscope.core.question import EXAMPLES, MODEL, RESULTS, STATES, TASK, Question
from bertscope.core.scoring import Scoring
from bertscope.core.step import Root, Step
from bertscope.data.corpus import examples_root
from bertscope.experiments.trainings import by_recipe, depth, fine_tunings
from bertscope.training.finetune.question import FinetuneConfig

WHOLE = "whole"
"""The arm in which nothing is frozen."""


@dataclass(frozen=True)
class FreezeConfig:
    """What keeps its weights, and how the rest is trained."""

    sets: tuple[str, ...] = ()
    """What not to train; each gets its own trainings. A number means the embeddings and that many layers above them,
    0 nothing; also `embeddings`, layers alone such as `5-8`, `embeddings+5-8`, and `encoder` for everything below
    the pooler and the classifier. By default nothing, the embeddings, and the embeddings with a third, two thirds
    and all of the layers: 5 trainings for each seed. Nothing is always among them."""
    frozen_dropout: bool = False
    """Keep dropout in frozen layers. Without it, frozen layers that have nothing trained below them run only once."""
    movement: bool = True
    """Also report how far each layer moved from the base, by RSA; --no-movement saves the hidden states."""
    texts: int = 200
    """How many texts of the test set RSA reads. Their hidden states are kept for every training."""
    words: int = 5000
    """How many of these texts' words RSA compares, at most."""
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
        by_recipe(self)  # refuses what can't work
        for text in self.sets:
            if not text.isdecimal():
                Layers.parse(text)
        check_least(self, texts=2, words=50)

    def frozen(self, n_layers: int) -> list[Layers]:
        """What is frozen in a model of that depth, nothing first."""
        thirds = ("0", EMBEDDINGS, str(n_layers // 3), str(2 * n_layers // 3), ENCODER)
        return list(dict.fromkeys(_set(text, n_layers) for text in ("0", *(self.sets or thirds))))

    def training(self, seed: int, frozen: Layers) -> FinetuneConfig:
        dropout = self.frozen_dropout and bool(frozen)  # a training of everything is one and the same
        return by_recipe(self, seed=seed, frozen=str(frozen), frozen_dropout=dropout)


def _set(text: str, n_layers: int) -> Layers:
    """A number counts from the first layer, embeddings included; all of them are the encoder."""
    if not text.isdecimal():
        return Layers.parse(text).within(n_layers)
    if int(text) > n_layers:
        raise UserError(f"{text} layers can't be frozen: the model has {n_layers}; freeze that many or fewer")
    if int(text) == n_layers:
        return Layers(whole=True)
    return Layers.first(int(text)) if int(text) else Layers()


def plan(base: Step | Root, task: Root, config: FreezeConfig = FreezeConfig()) -> Step:  # noqa: B008 (frozen)
    """The fine-tunings, shared with whoever else needs them; each model's hidden states; and what compares them."""
    tuned = fine_tunings(
        base, task, [config.training(seed, frozen) for frozen in config.frozen(depth(base)) for seed in config.seeds]
    )
    moved: dict[str, Step | Root] = {}
    if config.movement:
        limit = min(config.texts, task.options.get("limit", config.texts))
        examples = examples_root(task.given, **{**task.options, "limit": limit})
        moved = state_steps([base, *tuned.values()], examples) | {"examples": examples}
    return freeze.step({"task": task} | tuned | moved, config)


freeze = Question(
    __name__,
    """The same fine-tuning with parts of the encoder frozen, from nothing to everything below the classifier: each
    one's score against training everything on the same seeds and examples, the time and memory of the training, and
    how far every layer's representation moved from the base's. `states` are those of the base and of each tuned
    model.""",
    config=FreezeConfig,
    inputs={"tuned": RESULTS, "task": TASK},
    optional={"states": STATES, "examples": EXAMPLES},
    given={"base": MODEL, "task": TASK},
    scoring=Scoring(),
    version=3,
    main="score",
    better="higher",
    cite="Merchant et al. 2020, What Happens To BERT Embeddings During Fine-tuning?",
    plan=plan,
    numbers={
        "score": "score, {arm} frozen",
        "effect": "effect, {arm} frozen",
        "training_time": "time, {arm} frozen",
        "chance": "constant answer",
    },
    words={"arm": {WHOLE: "nothing", ENCODER: "all but classifier"}},
    compared="the worst change of the score by freezing",
)
