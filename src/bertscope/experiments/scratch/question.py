"""`scratch`: how much of a fine-tuned model's score did pre-training give?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from bertscope.analyses.patterns.question import patterns
from bertscope.core.config import check_seeds
from bertscope.core.layers import ENCODER
from bertscope.core.question import MODEL, RESULTS, TASK, Question
from bertscope.core.scoring import Scoring
from bertscope.core.step import Root, Step
from bertscope.experiments.scratch.untuned import UntunedConfig, untuned
from bertscope.experiments.trainings import by_recipe
from bertscope.training.finetune.question import finetune

UNTUNED, CONSTANT = "untuned", "chance"
"""The arms that aren't trained: a new classifier on the pretrained encoder, and the same answer to everything."""


@dataclass(frozen=True)
class Training:
    """An arm that is trained: what its `FinetuneConfig` has of its own."""

    init: Literal["pretrained", "random"] = "pretrained"
    frozen: str = ""

    @property
    def moved(self) -> bool:
        """Whether its encoder is another than the base, so that its attention is worth a look."""
        return self.init == "random" or not self.frozen


TRAININGS = {
    "tuned": Training(),
    "random": Training("random"),
    "frozen": Training(frozen=ENCODER),
    "frozen_random": Training("random", ENCODER),
}
"""By arm, which is also the input that holds its results."""
_ARMS = {
    "tuned": "fine-tuned",
    "random": "random init, tuned",
    "frozen": "pretrained, frozen",
    "frozen_random": "random init, frozen",
    UNTUNED: "pretrained, not tuned",
}
_BASELINES = {
    "bag_of_words": "bag of words",
    "closest_sentence": "closest sentence",
    "right_chain": "right chain",
    "left_chain": "left chain",
    "word_lookup": "each word's usual tag",
    "chance": "constant answer",
}
"""What needs no encoder, as the trainings tell it."""
EFFECTS: dict[str, tuple[str, ...]] = {
    "pretraining": ("tuned", "random"),
    "fine_tuning": ("tuned", UNTUNED, CONSTANT),
    "pretraining_frozen": ("frozen", "frozen_random"),
    "encoder_from_random": ("random", "frozen_random"),
    "encoder_from_pretrained": ("tuned", "frozen"),
}
"""What is compared: the first arm minus the second; where there are several, minus the best of them. A new classifier
may answer worse than one that never looks: what fine-tuning gives is more than either."""
_EFFECTS = {
    "fine_tuning": "fine-tuning",
    "pretraining_frozen": "pretraining, encoder frozen",
    "encoder_from_random": "training the encoder, from random",
    "encoder_from_pretrained": "training the encoder, from pretrained",
}


@dataclass(frozen=True)
class ScratchConfig:
    """How the trainings are run: the same for all, but for the weights they start from and what is trained."""

    seeds: tuple[int, ...] = (0,)
    """Run one training of each kind for each seed; 5 or more give intervals over trainings."""
    patterns: bool = True
    """Also report which attention patterns each encoder has (for the first seed)."""
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


def plan(base: Step | Root, task: Root, config: ScratchConfig = ScratchConfig()) -> Step:  # noqa: B008 (frozen)
    """The fine-tunings that are compared, shared with whoever else needs them, and the step that compares them."""
    on = {"base": base, "task": task}
    before = {f"untuned.{seed}": untuned.step(on, UntunedConfig(seed)) for seed in config.seeds}
    trained = {
        f"{name}.{seed}": finetune.step(on, by_recipe(config, **asdict(training), seed=seed))
        for name, training in TRAININGS.items()
        for seed in config.seeds
    }
    inputs: dict[str, Step | Root] = {**trained, **before, "task": task}
    if config.patterns:
        moved = [trained[f"{name}.{config.seeds[0]}"] for name, training in TRAININGS.items() if training.moved]
        inputs |= {f"shapes.{place}": _shapes(model, task) for place, model in enumerate([base, *moved])}
    return scratch.step(inputs, config)


def _shapes(model: Step | Root, task: Root) -> Step:
    """The attention patterns of a model on the test set."""
    from bertscope.data.corpus import examples_root

    examples = examples_root(task.given, **task.options)
    return patterns.step({"models.0": model, "examples": examples})


scratch = Question(
    __name__,
    """The same architecture, task and training, from the pretrained weights and from random ones, each as a whole
    and with the encoder frozen; beside them the pretrained encoder before any training, two baselines that need no
    encoder, and each encoder's attention patterns.""",
    config=ScratchConfig,
    inputs={**dict.fromkeys(TRAININGS, RESULTS), "untuned": RESULTS, "task": TASK},
    optional={"shapes": RESULTS},
    given={"base": MODEL, "task": TASK},
    scoring=Scoring(
        refuses={"vectors": "there is nothing on top of the encoder: with all of it frozen, nothing is left to train"}
    ),
    version=5,
    main="score",
    better="higher",
    cite="Kovaleva et al. 2019, Revealing the Dark Secrets of BERT, table 2",
    plan=plan,
    numbers={
        "score": "{arm}",
        **_BASELINES,
        "pretraining_gives": "what pretraining gives",
        "fine_tuning_gives": "what fine-tuning gives",
    },
    words={"arm": _ARMS | _BASELINES, "against": _ARMS | _BASELINES, "effect": _EFFECTS},
    compared="what pretraining adds to the score of the same training",
)
