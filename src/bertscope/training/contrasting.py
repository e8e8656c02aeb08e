"""What belongs together and how it is learnt: the settings that `contrast` and its trainings share."""

# No `annotations` from `__future__`: other configs inherit these fields, and couldn't look up their types' names.
from dataclasses import dataclass
from math import inf, isfinite
from typing import Literal

from bertscope.core.config import check_choices
from bertscope.core.errors import UserError


@dataclass(frozen=True)
class Contrasting:
    """What belongs together, and how it is learnt."""

    pairs: Literal["unsupervised", "pairs", "triples"] = "unsupervised"
    """unsupervised: two dropout views of a text; pairs: two texts that mean the same, or follow; triples: a premise,
    what follows from it and what contradicts it."""
    temperature: float = 0.05
    """What cosines are divided by."""
    pool: Literal["cls", "mean"] = "cls"
    """A text's vector in the last layer: the first token's, or the mean of its tokens', special ones excepted."""
    projection: bool = True
    """A linear map and tanh on top of the vectors while training, as in SimCSE; --no-projection leaves it out."""
    length: int = 32
    """Texts are cut to so many tokens in training."""
    batch_size: int = 64
    """Texts, pairs or triples per step: each one's negatives are the others'."""
    epochs: int | None = None
    """How often the data is gone through; by default once unsupervised, otherwise 3 times."""
    learning_rate: float | None = None
    """The highest learning rate; by default 3e-5 unsupervised and otherwise 5e-5, ten times that under 384 hidden
    units."""
    least_score: float | None = None
    """Pairs of a task with scores: the least score of two texts that mean the same; by default four fifths of the
    highest."""
    sentences: bool = False
    """Unsupervised: split texts into sentences."""

    def __post_init__(self) -> None:
        check_choices(self)
        if self.batch_size < 2:
            raise UserError(f"batch-size is {self.batch_size}; in a batch of one there is nothing to tell apart")
        if not 0 < self.temperature < inf:
            raise UserError(f"temperature is {self.temperature}; it must be above 0 and finite")
        if self.least_score is not None and not isfinite(self.least_score):
            raise UserError(f"least-score is {self.least_score}; give a finite number")
        if self.least_score is not None and self.pairs != "pairs":
            raise UserError("least-score says which pairs mean the same; leave it out, or use --pairs pairs")
        if self.length < 3:
            raise UserError(f"length is {self.length}; two tokens are special, so it must be at least 3")
