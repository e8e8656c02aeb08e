"""`erase`: what a model loses when a layer no longer tells a label that a linear probe can read off it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bertscope.analyses.probe.question import OF_WORDS
from bertscope.analyses.states.question import state_steps
from bertscope.core.config import check_known, check_least
from bertscope.core.errors import UserError
from bertscope.core.question import EXAMPLES, MODEL, TASK, Input, Question
from bertscope.core.scoring import Scoring
from bertscope.core.step import Root, Step

if TYPE_CHECKING:
    from bertscope.core.examples import Examples

Likeness = Literal["rank", "variance"]
LIKENESSES: tuple[Likeness, ...] = ("rank", "variance")
_RANDOM = {"rank": "random, same rank", "variance": "random, same rank and variance"}


@dataclass(frozen=True)
class EraseConfig:
    """What is erased, where, and what it is compared with."""

    targets: tuple[str, ...] = ("pos",)
    """What to erase, each alone: pos, relation, frame, entity, gender, word (which of the most frequent)."""
    task: str | None = None
    """The task whose score is measured, for a model that was fine-tuned on it; takes what --on takes. A file's
    columns need usual names (text, label): --text and --label belong to --on."""
    layers: tuple[int, ...] = ()
    """After which layers to erase, each alone; 0 is the embeddings' output. By default all."""
    random: int = 5
    """Random subspaces of each kind to erase instead, for each target and layer. Each costs on average half a pass
    through the model. A label counts as used if it lies far enough from them, which is less certain with few."""
    like: tuple[Likeness, ...] = LIKENESSES
    """What random subspaces have in common with what is erased. rank: only the rank; variance: also about as much of
    the vectors' variance, of which a label usually has more than a random subspace."""
    words: int = 10000
    """At most this many words to learn from what to erase."""
    texts: int = 200
    """At most this many texts to measure the score or the loss on."""
    types: int = 50
    """For the target `word`: how many of the most frequent words."""
    null: bool = False
    """Also erase one more random subspace of each kind, and let each play the label in turn: how often is it found
    to be used? Costs as much as one more --random."""
    repeats: int = 2000
    """Bootstrap resamples of the texts behind each interval."""
    seed: int = 0
    """Seed of the split of the texts, the random subspaces, the masked tokens, the probes and the resampling."""

    def __post_init__(self) -> None:
        if not self.targets:
            raise UserError("nothing to erase; name a target such as pos")
        check_known("target", self.targets, OF_WORDS)
        if not self.like:
            raise UserError(f"nothing to compare with; name some of {', '.join(LIKENESSES)}")
        check_known("likeness", self.like, LIKENESSES)
        check_least(self, random=2, words=10, texts=2, types=2, repeats=100, seed=0)


def plan(model: Step | Root, examples: Root, config: EraseConfig = EraseConfig()) -> Step:  # noqa: B008 (frozen)
    """The hidden states, which other questions share, and the step that reads them."""
    from bertscope.data.read import task_root

    inputs: dict[str, Step | Root] = {"model": model, "examples": examples}
    inputs["states"] = state_steps([model], examples)["states.0"]
    if config.task is not None:
        inputs["task"] = task_root(config.task)
    return erase.step(inputs, config)


def check(examples: Examples, config: EraseConfig) -> None:
    """Refuse texts that don't tell what is to be erased."""
    from bertscope.analyses.probe.targets import Limits, choose_targets

    choose_targets(examples, config.targets, Limits(words=config.words, types=config.types), OF_WORDS)


erase = Question(
    __name__,
    """At one layer after the other, everything that a linear probe could read of a label is erased from the vectors
    of all words (LEACE), and the layers above continue from there. What that costs the fine-tuned model on its
    task, or the masked language model in its guesses, is compared with the cost of random subspaces of the same
    rank, and of others that also have as much of the variance. A layer uses the label if erasing it raises the loss
    by more than random subspaces of either kind could (p < .05, Holm over the layers), and surely so on other
    texts.""",
    config=EraseConfig,
    inputs={"model": MODEL, "examples": EXAMPLES},
    optional={"task": TASK, "states": Input("states")},
    scoring=Scoring(
        asked_by="--task",
        refuses={
            "vectors": "a text's vector is the mean of the states from which the label is erased: what is gone there "
            "is gone from the answer, whether the model uses it or not"
        },
    ),
    version=5,
    main="score",
    cite="Belrose et al. 2023, LEACE: Perfect linear concept erasure in closed form; Elazar et al. 2021, Amnesic "
    "Probing: Behavioral Explanation with Amnesic Counterfactuals",
    null="a random subspace of the same rank, or of the same rank and variance, is erased in the label's place",
    reference="the cost of random subspaces of the same rank, and of the same rank and variance",
    plan=plan,
    check=check,
    columns={
        "curves": {"low, high": "ends of the 95% interval; of random subspaces the lowest and the highest"},
        "effects": {
            "random_low, random_high": "the lowest and the highest of the random subspaces",
            "p_holm": "the larger p of the layer's kinds of subspaces, corrected for the number of layers (Holm)",
        },
    },
    numbers={
        "score": "score",
        "masked_lm_loss": "masked-LM loss",
        "chance": "chance",
        "change_erased": "{target} erased: change, mean of layers",
        "change_random": "{like}: the same",
        "loss_rise_erased": "{target} erased: rise of the loss, mean of layers",
        "loss_rise_random": "{like}: rise of the loss",
        "layers_used": "layers whose {target} is used (p < .05, Holm)",
    },
    words={
        "like": _RANDOM,
        "erased": {"label": "the label", **_RANDOM},
        "vectors": {
            "as_they_are": "as they are",
            "erased": "erased",
            "erased_read_afresh": "erased, read afresh",
        },
    },
)
