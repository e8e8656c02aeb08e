"""`structure`: whether a layer's vectors hold the dependency tree, by structural probes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertscope.analyses.states.question import StatesConfig, state_steps, states
from bertscope.core.config import check_least
from bertscope.core.errors import UserError
from bertscope.core.question import EXAMPLES, MODELS, STATES, Input, Question
from bertscope.core.series import Followed, OverSteps
from bertscope.core.step import Root, Step

if TYPE_CHECKING:
    from bertscope.core.examples import Examples

_METRICS = {
    "uuas": "UUAS",
    "dspr_sentences": "DSpr over sentences",
    "dspr": "DSpr over lengths",
    "root_accuracy": "root accuracy",
    "nspr_sentences": "NSpr over sentences",
    "nspr": "NSpr over lengths",
}


@dataclass(frozen=True)
class StructureConfig:
    """How the probes are trained, and what they are set beside."""

    ranks: tuple[int, ...] = (64,)
    """The probes' ranks, all trained together. In the paper, ranks above 64 add less than half a point of UUAS. A
    rank above a model's width is set to its width."""
    control: bool = True
    """Also train the best layer's probes on random trees of the same shapes: what a probe finds where there is
    nothing."""
    random: bool = True
    """Also probe the first model with random weights: what its architecture and the words alone give."""
    epochs: int = 40
    """The most epochs; a probe stops after 5 without an improvement on the validation sentences."""
    batch_size: int = 20
    """Sentences per step."""
    learning_rate: float = 1e-3
    """Adam's at the start; it falls to a tenth after each epoch without an improvement."""
    show: tuple[str, ...] = ()
    """The ids of scored sentences whose trees to draw."""
    sentences: int = 4
    """How many trees to draw if none are named: short ones, chosen by a hash of their ids."""
    repeats: int = 1000
    """Bootstrap resamples behind each interval."""
    seed: int = 0
    """Seed of the split, the probes' first weights, the order of the sentences, the random trees, the random model's
    weights and the resampling."""

    def __post_init__(self) -> None:
        if not self.ranks or min(self.ranks) < 1 or len(set(self.ranks)) < len(self.ranks):
            raise UserError(f"ranks are {self.ranks}; give one or more different numbers, each at least 1")
        check_least(self, epochs=1, batch_size=1, sentences=0, repeats=100, seed=0)
        if not self.learning_rate > 0:
            raise UserError(f"learning-rate is {self.learning_rate}; it must be above 0")


def plan(*arguments: Any, train: Root | None = None) -> Step:
    """The steps that keep each model's states, and the random model's, of both corpora, and the step that probes."""
    *models, examples, config = arguments
    inputs: dict[str, Step | Root] = {"examples": examples} | ({"train": train} if train else {})
    for name, corpus in (("states", examples), ("train_states", train)):
        if corpus is not None:
            inputs |= state_steps(models, corpus, name=name)
            if config.random:
                unlearned = StatesConfig(init="random", seed=config.seed)
                inputs[f"{name}.{len(models)}"] = states.step({"model": models[0], "examples": corpus}, unlearned)
    return structure.step(inputs, config)


def check(examples: Examples, config: StructureConfig) -> None:
    """Refuse what has no trees."""
    from bertscope.analyses.structure.trees import Trees

    Trees.of(examples)


structure = Question(
    __name__,
    """Linear maps are trained so that squared distances between words are their distances in the dependency tree,
    and squared lengths their depths: one of each for every layer of every checkpoint, all at once. They are scored
    on other sentences, beside a chain of words, random weights and random trees. `train` is another corpus to train
    on; without it one corpus is split in three. From Python, states that are already stored must include the random
    model's, and `train_states` holds those of `train`.""",
    config=StructureConfig,
    inputs={"states": STATES, "examples": EXAMPLES},
    optional={
        "train": Input(
            "examples",
            flag="Other data to train on; all of --on is then scored. By default --on is split.",
            checked=True,
        ),
        "train_states": STATES,
    },
    given={"models": MODELS, "examples": EXAMPLES},
    version=3,
    main="uuas",
    better="higher",
    over_steps=OverSteps(
        followed=(
            Followed(
                "scores", "value", "what a probe finds", by=("layer", "metric"),
                where={"arm": "probe", "best_rank": True},
            ),
        )
    ),
    cite="Hewitt and Manning 2019, A Structural Probe for Finding Syntax in Word Representations; Hewitt and Liang "
    "2019, Designing and Interpreting Probes with Control Tasks",
    plan=plan,
    check=check,
    card=(),  # its table of trees has heads too: the words that others depend on
    numbers={
        **_METRICS,
        "linear_chain": "linear chain",
        "control": "control",
        "selectivity": "selectivity",
        "best_layer": "best layer for {probe}",
    },
    moves_with_n=("dspr", "nspr"),
    words={
        "metric": _METRICS,
        "arm": {"probe": "probe", "control": "control", "linear_chain": "linear chain"},
        "edge": {"in_both": "in both trees", "in_one": "in one tree only"},
    },
    compared="the share of the syntax trees' edges that a linear map finds",
)  # fmt: skip
