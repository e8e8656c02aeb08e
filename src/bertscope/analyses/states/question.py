"""`states`: the hidden states that questions about representations read, kept once and shared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bertscope.core.config import check_choices, check_least
from bertscope.core.question import EXAMPLES, MODEL, Question
from bertscope.core.step import Root, Step
from bertscope.models.states_store import Pool


@dataclass(frozen=True)
class StatesConfig:
    """What is kept of an encoder's hidden states."""

    pool: Pool = "word"
    """What each vector is. word: the mean of a word's pieces; token: each token that isn't special; cls: the first
    token; mean: the mean of an example's tokens without the special ones."""
    init: Literal["pretrained", "random"] = "pretrained"
    """random: draw all weights anew first, as a control for what pre-training gives."""
    seed: int = 0
    """Seed of the random weights; nothing else is random."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_least(self, seed=0)


states = Question(
    __name__,
    """One pass of the encoder: every layer's vectors go to a memory-mapped array that `similarity`, `structure`,
    `probe`, `project` and `geometry` read, so that none of them has to run the encoder again.""",
    config=StatesConfig,
    inputs={"model": MODEL, "examples": EXAMPLES},
    version=2,
    main="vectors",
    cite="Devlin et al. 2019, BERT: Pre-training of Deep Bidirectional Transformers",
    keeps="states",
    sharding="states",
    numbers={"vectors": "vectors", "layers": "layers", "megabytes": "megabytes"},
)


def state_steps(models: Sequence[Step | Root], examples: Root, *, name: str = "states") -> dict[str, Step]:
    """The steps that keep these models' states over these examples, as a question's inputs `NAME.0`, `NAME.1` ..."""
    return {
        f"{name}.{place}": states.step({"model": model, "examples": examples}) for place, model in enumerate(models)
    }
