"""`contrastive`: an encoder learns which texts belong together. A step of `contrast`."""

# No `annotations` from `__future__`: other configs inherit these fields, and couldn't look up their types' names.
from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING, Literal

from bertscope.core.config import check_choices
from bertscope.core.errors import UserError
from bertscope.core.question import EITHER, MODEL, TASK, Question
from bertscope.training.finetune.question import FinetuneConfig

if TYPE_CHECKING:
    from bertscope.core.examples import Examples
    from bertscope.data.positives import Sets
    from bertscope.data.task import Task

_NARROW = 384  # hidden units under which an encoder wants a higher learning rate


@dataclass(frozen=True)
class ContrastiveSettings:
    """What belongs together, and how it is learnt."""

    pairs: Literal["unsupervised", "pairs", "triples"] = "unsupervised"
    """What belongs together. unsupervised: two dropout views of a text; pairs: two texts of which the second means
    the same, or follows; triples: a premise, what follows from it and what contradicts it."""
    temperature: float = 0.05
    """The softmax temperature: cosines are divided by it."""
    pool: Literal["cls", "mean"] = "cls"
    """A text's vector in the last layer: the first token's (cls), or the mean of its tokens' without the special
    ones."""
    projection: bool = True
    """Train with a linear map and tanh on top of the vectors, as in SimCSE; --no-projection leaves it out."""
    length: int = 32
    """Texts are cut to this many tokens in training."""
    batch_size: int = 64
    """Texts, pairs or triples per step; the others in the batch are each one's negatives."""
    epochs: int | None = None
    """Passes over the data; by default 1 for unsupervised, else 3."""
    learning_rate: float | None = None
    """The peak learning rate; by default 3e-5 for unsupervised, else 5e-5, and ten times that under 384 hidden
    units."""
    least_score: float | None = None
    """For pairs of a task with scores: the lowest score at which two texts count as meaning the same; by default
    four fifths of the highest score."""
    sentences: bool = False
    """For unsupervised: split texts into sentences."""

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


@dataclass(frozen=True)
class ContrastiveConfig(ContrastiveSettings):
    """One training."""

    positives: Literal["true", "shuffled"] = "true"
    """shuffled: each text gets another text's positive, as a control for what any training does."""
    keep: Literal["last", "best"] | int = "last"
    """Which epoch's weights to keep: the last, or the best by the validation score (never epoch 0, before any
    training); or a number of checkpoints along the training, as for finetune."""
    keep_spacing: Literal["even", "logarithmic"] = "even"
    """With a number for --keep: even, or logarithmic."""
    seed: int = 0
    """Seed of the projection's first weights, the order, dropout, and how positives are shuffled."""

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
            batch_size=self.batch_size, keep=self.keep, keep_spacing=self.keep_spacing,
            seed=self.seed,
        )  # fmt: skip


def training_sets(data: "Task | Examples", config: ContrastiveConfig) -> "tuple[Sets, Sets]":
    """What is trained on, and what is held out of it."""
    from bertscope.data.positives import held_out, matched

    return held_out(matched(data, config.pairs, least_score=config.least_score, sentences=config.sentences))


def check(data: "Task | Examples", config: ContrastiveConfig) -> None:
    """Refuse data that has too little that belongs together."""
    training_sets(data, config)


contrastive = Question(
    __name__,
    """Cross-entropy over the cosines within a batch. A tenth of the sets (at most 1,000) is held out and followed;
    with `sts`, a task of pairs with scores, the training is scored by how well cosines follow the scores of its
    validation set. With `out`, a plain Hugging Face encoder is written there, and a training that was killed
    continues from its last epoch.""",
    config=ContrastiveConfig,
    inputs={"base": MODEL, "data": EITHER},
    optional={"sts": TASK},
    version=2,
    newer={"keep": {"best": 3}},
    main="after",
    better="higher",
    cite="Gao et al. 2021, SimCSE: Simple Contrastive Learning of Sentence Embeddings",
    keeps="model",
    check=check,
    numbers={"after": "after", "before": "before"},
)
