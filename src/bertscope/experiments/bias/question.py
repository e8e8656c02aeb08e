"""`bias`: what does a gap in the training data do, and how much of that would any gap of its size do?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from bertscope.core.config import check_seeds
from bertscope.core.errors import UserError
from bertscope.core.question import MODEL, RESULTS, TASK, Question
from bertscope.core.scoring import Scoring
from bertscope.core.step import Root, Step
from bertscope.experiments.bias.swap import SwapConfig, swap
from bertscope.experiments.trainings import by_recipe
from bertscope.training.finetune.question import finetune

if TYPE_CHECKING:
    from bertscope.data.task import Task

WORDS = ("women", "woman", "girl", "girls", "mother", "wife", "female")
"""The list of the CS4650 project."""
_ARMS = {"tuned": "full", "controls": "random cut", "biased": "without the words"}
"""The arms, which are also the inputs with their trainings, in words."""
ARMS = tuple(_ARMS)
EFFECTS = {"cut": ("biased", "tuned"), "size": ("controls", "tuned"), "words": ("biased", "controls")}
"""Arms that are compared, the first minus the second: the first effect is the sum of the others."""
EFFECT_WORDS = {"cut": "the cut", "size": "its size", "words": "its words"}
_SPLITS = {"train": "training", "test": "test"}
"""Those that must mention the words, and what their rows are called."""


@dataclass(frozen=True)
class BiasConfig:
    """Which rows leave the training data, and how the models are trained."""

    words: tuple[str, ...] = WORDS
    """Rows that mention one of these words (whole words, in either text) are left out of train and validation; by
    default English words for women."""
    seeds: tuple[int, ...] = (0,)
    """Run three trainings for each seed: on all rows, without the words, and without as many random rows; 5 or more
    give intervals over trainings."""
    swap: tuple[str, ...] = ()
    """Words to exchange in the test texts, such as she/he, to see whether the answer changes. By default English
    words of gender."""
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
        if not self.words or not all(word.strip() for word in self.words):
            raise UserError("words has a blank, or nothing, in it; name the words whose rows are to leave")


def plan(base: Step | Root, task: Root, config: BiasConfig = BiasConfig()) -> Step:  # noqa: B008 (frozen)
    """Three fine-tunings for each seed, their answers to swapped texts, and the step that compares them."""
    from bertscope.data.swaps import Swap

    Swap(config.swap)  # refuses what are no pairs
    inputs: dict[str, Step | Root] = {"task": task}
    for arm in ARMS:
        for seed in config.seeds:
            data = replace(task, options={**task.options, **_subset(arm, config, seed)})
            settings = by_recipe(config, seed=seed)
            model = inputs[f"{arm}.{seed}"] = finetune.step({"base": base, "task": data}, settings)
            inputs[f"swapped.{arm}.{seed}"] = swap.step({"model": model, "task": task}, SwapConfig(config.swap))
    return bias.step(inputs, config)


def _subset(arm: str, config: BiasConfig, seed: int) -> dict[str, Any]:
    """How the arm's data is read: `TaskOptions`."""
    if arm == "tuned":
        return {}
    return {"without": list(config.words)} | ({"at_random": seed} if arm == "controls" else {})


def check(task: Task, config: BiasConfig) -> None:
    """Refuse words that leave nothing to train on or to compare."""
    from bertscope.data.slices import mentions
    from bertscope.data.subsets import in_brief, without_words

    named = in_brief(config.words)
    for split in _SPLITS:
        if not mentions(getattr(task, split), config.words).any():
            default = " (the default, for English)" if config.words == WORDS else ""
            raise UserError(
                f"no {_SPLITS[split]} row of {task.name} mentions {named}{default}; name words that occur in it "
                "with --words"
            )
    without_words(task, config.words)  # refuses what would leave too little
    if mentions(task.test, config.words).all():
        raise UserError(f"every test row of {task.name} mentions {named}: there is no rest to compare it with")


bias = Question(
    __name__,
    """Rows that mention certain words are left out of the training data; the test set stays as it is. Compared with
    training on all rows, that is the effect of the cut; compared with a random cut of the same size and labels, it
    is the effect of its words. Both are given for all test rows, for those with the words (slice) and for the rest;
    beside them, how often the answer changes when words of gender are exchanged.""",
    config=BiasConfig,
    inputs={"tuned": RESULTS, "biased": RESULTS, "controls": RESULTS, "task": TASK},
    optional={"swapped": RESULTS},
    given={"base": MODEL, "task": TASK},
    scoring=Scoring(
        refuses={
            "masked": "the words to mask are drawn by the text: with words exchanged, other words would be masked"
        },
        lacks={
            "spans": "flips of questions whose text has words to exchange (that would move the answers' places)",
        },
    ),
    version=4,
    main="effect_of_words",
    cite="the CS4650 project's biased data, with a control; Garg et al. 2019, Counterfactual Fairness in Text "
    "Classification through Robustness",
    plan=plan,
    check=check,
    numbers={
        "score": "{arm}",
        "chance": "constant answer",
        "effect_of_cut": "effect of the cut, {on}",
        "effect_of_size": "effect of its size, {on}",
        "effect_of_words": "effect of its words, {on}",
        "flips": "flips, {arm}",
    },
    words={"arm": _ARMS | {"chance": "constant answer"}, "against": _ARMS, "effect": EFFECT_WORDS},
    compared="the effect of the missing words",
)
