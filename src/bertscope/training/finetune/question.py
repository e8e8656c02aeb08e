"""`finetune`: an encoder and a task in, a fine-tuned encoder and its learning curve out."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from bertscope.core.config import check_choices, check_least
from bertscope.core.errors import UserError
from bertscope.core.layers import Layers
from bertscope.core.question import MODEL, TASK, Question
from bertscope.core.row_card import RowFact
from bertscope.core.scoring import Scoring

if TYPE_CHECKING:
    from bertscope.data.task import Task


@dataclass(frozen=True)
class FinetuneConfig:
    """How to train. What is None comes from the recipe."""

    recipe: Literal["auto", "paper", "pocket"] = "auto"
    """Where epochs, learning rate and warm-up come from if they aren't given. auto: 3e-4 under 384 hidden units,
    1e-4 under 768, else 2e-5, after a warm-up of 10%, for 3 epochs (4 under 384) or as many as make 300 steps, at
    most 25; paper: 3 epochs, 2e-5 and no warm-up, as for bert-base; pocket: 4 epochs, 3e-4 and 10%, and a new head
    learns ten times as fast."""
    epochs: int | None = None
    """Passes over the training set; by default the recipe's."""
    learning_rate: float | None = None
    """The peak learning rate, from which it decays linearly to 0; by default the recipe's."""
    warmup: float | None = None
    """The share of all steps over which the learning rate rises; by default the recipe's."""
    head_rate: float | None = None
    """The learning rate of what is on top of the encoder (pooler, classifier, tagger, parser), as a multiple of the
    encoder's; by default the recipe's: 10 with pocket, 1 with the others. Where steps are few, a small encoder learns
    tags far better with 10."""
    weight_decay: float = 0.0
    """AdamW's weight decay; biases and LayerNorm have none."""
    batch_size: int = 32
    """Examples per batch; a step is one batch unless --accumulate is set."""
    accumulate: int = 1
    """Gradient accumulation: add up the gradients of this many batches for one step, for steps of more examples than
    fit into memory at once."""
    class_weights: Literal["none", "balanced"] = "none"
    """balanced: rare labels count for more in the loss, each by how much rarer it is than if all labels were equally
    frequent. For one label a text or a word."""
    clip: float = 1.0
    """Gradients are clipped to this norm."""
    init: Literal["pretrained", "random"] = "pretrained"
    """random: draw all weights anew, as a control for what pre-training gives."""
    keep: Literal["last", "best"] | int = "last"
    """Which epoch's weights to keep: the last, or the best on the validation set, of equals the first; epoch 0,
    before any training, is never the best. A number: the last epoch's, and that many checkpoints along the training,
    its start and its end included, as folders `checkpoint-STEP` in the model's folder, each a whole model."""
    keep_spacing: Literal["even", "logarithmic"] = "even"
    """With a number for --keep. even: equally many steps between checkpoints; logarithmic: closer together early in
    the training, from the first step on."""
    patience: int | None = None
    """Early stopping: end after this many epochs in a row without a new best on the validation set, counted from
    epoch 1 on, and keep the best epoch's weights."""
    without: str = ""
    """Layers to leave out before the training: `12`, `11-12`, `3,7-9`."""
    classifier: Literal["linear", "relu"] = "linear"
    """linear: the family's own; relu: its last linear layer becomes two, with 50 hidden units and a ReLU between."""
    pooler: bool = True
    """Keep the dense layer that the family has before its last one; --no-pooler removes it, so that the last layer
    reads the first token's final state."""
    dropout: float | None = None
    """The dropout before the classifier's last layer; by default the model's own."""
    frozen: str = ""
    """What not to train: `embeddings`, layers such as `1-8`, both as `embeddings,1-8`, or `encoder` for everything
    below the pooler and the classifier."""
    frozen_dropout: bool = False
    """Keep dropout in frozen layers while the others train. Without it, frozen layers that have nothing trained
    below them run once, and every epoch reuses their outputs."""
    seed: int = 0
    """Seed of the new classifier's weights, the order of the examples, and dropout."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_least(self, seed=0, epochs=1, learning_rate=0, weight_decay=0, batch_size=1, clip=0)
        check_least(self, accumulate=1, patience=1, head_rate=0)
        if isinstance(self.keep, int):
            check_least(self, keep=2)
            if self.patience is not None:
                raise UserError(
                    f"keep is {self.keep}, but with patience nobody knows which step is the last; leave one out"
                )
        if self.patience is not None:
            object.__setattr__(self, "keep", "best")
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

    def settled(self, hidden_size: int, rows: int, *, new_head: bool = True) -> FinetuneConfig:
        """This config with every None filled in by its recipe, for an encoder of that width and so many rows to
        train on. A head that has learnt before learns no faster than the encoder unless that is asked for."""
        recipe = RECIPES.get(self.recipe) or self._auto(hidden_size, rows)
        if not new_head:
            recipe = recipe | {"head_rate": 1.0}
        return replace(self, **{name: value for name, value in recipe.items() if getattr(self, name) is None})

    def _auto(self, hidden_size: int, rows: int) -> dict[str, Any]:
        rate, epochs = next(best for below, best in _BY_WIDTH.items() if hidden_size < below)
        steps = math.ceil(math.ceil(rows / self.batch_size) / self.accumulate)
        enough = min(math.ceil(LEAST_STEPS / steps), MOST_EPOCHS)
        return {"learning_rate": rate, "epochs": max(epochs, enough), "warmup": 0.1, "head_rate": 1.0}


BASELINES = {
    "chance": "constant answer",
    "bag_of_words": "bag of words",
    "closest_sentence": "closest sentence",
    "left_chain": "left chain",
    "right_chain": "right chain",
    "word_lookup": "each word's usual tag",
}
"""What a task yields without any encoder (`data/baselines.py`), in words."""

_SHARES = {"p_before": "with probability", "p_gold_before": "of what is right"}
ROWS, LONGEST = 10_000, 200
"""How many rows of the test set are told one by one, and how many characters of what is said of one."""

_BY_WIDTH = {384: (3e-4, 4), 768: (1e-4, 3), math.inf: (2e-5, 3)}
"""Under so many hidden units, auto's learning rate and fewest epochs: measured for 192 and 384 units
(docs/findings/recipe.md), the papers' from 768 on."""
LEAST_STEPS, MOST_EPOCHS = 300, 25
"""Few rows are gone through more often: until there are so many steps, but not more often than that."""
RECIPES: dict[str, dict[str, Any]] = {
    "paper": {"learning_rate": 2e-5, "epochs": 3, "warmup": 0.0, "head_rate": 1.0},
    "pocket": {"learning_rate": 3e-4, "epochs": 4, "warmup": 0.1, "head_rate": 10.0},
}


def check(task: Task, config: FinetuneConfig) -> None:
    """Refuse another classifier for a task that has none."""
    if config.classifier == "linear" and config.pooler and config.dropout is None:
        return
    from bertscope.models.outputs.kinds import MODEL_OUTPUTS

    if (task_head := MODEL_OUTPUTS[task.kind].task_head) != "classifier":
        raise UserError(
            f"classifier, pooler and dropout are for tasks that a classifier answers; {task.name} has a {task_head} "
            "on top: leave them out"
        )


finetune = Question(
    __name__,
    """A task head (a classifier or regressor, a head for spans, a parser, a tagger) is put on a copy of `base`, and
    all of it is trained on the task's training set; a model that guesses masked words, or an encoder whose vectors
    are trained, is taken as it is. The validation set is scored after each epoch, and the test set before and after
    the training. Layers can be left out first, or frozen. With `out`, a plain Hugging Face folder is written there,
    and a training that was killed continues from its last epoch (`resume=False` starts over); with `keep=10` it
    also holds that many checkpoints along the training, each a folder of that kind. The result's array `outputs`
    has the tuned model's outputs for the test set, its table `rows` the prediction for each row before and after.
    Where rows have one label, `row_probability` has the probability of each training row's label in each epoch, and
    from 5 epochs on there is a map of these rows.""",
    config=FinetuneConfig,
    inputs={"base": MODEL, "task": TASK},
    scoring=Scoring(),
    version=5,
    newer={"keep": {"best": 6}},
    main="after",
    better="higher",
    cite="Devlin et al. 2019, BERT: Pre-training of Deep Bidirectional Transformers",
    keeps="model",
    check=check,
    numbers={"after": "after", "before": "before", **BASELINES},
    words={
        "arm": BASELINES,
        "learnt": {"always": "in every epoch", "sometimes": "in some epochs", "never": "in no epoch"},
    },
    columns={
        "rows": {
            "p_after": "probability of what is predicted; of several decisions in a row, that of the least sure",
            "p_gold": "probability of what is right; of several decisions in a row, the lowest",
            "p_before": "probability of what was predicted before the training",
            "p_gold_before": "probability that what is right had before the training",
        },
        "training_rows": {
            "confidence": "mean over epochs of the probability that its label had when the training came to the row, "
            "dropout on",
            "variability": "its standard deviation over epochs",
            "correctness": "share of epochs in which its label was the likeliest",
            "region": "ambiguous: the third of the rows whose probability varies most; of the others easy from a "
            "mean of .5 on, else hard",
        },
        "never_learnt": {
            "confidence": "mean over epochs of the probability that its label had, dropout on",
            "variability": "its standard deviation over epochs",
        },
    },
    row_card=(
        RowFact("rows", "gold", "what is right", of_row=True, chosen_by=True, sorted_by=True),
        RowFact("rows", "predicted_before", "before training", beside=_SHARES),
        RowFact(
            "rows",
            "predicted",
            "after training",
            beside={"p_after": "with probability", "p_gold": "of what is right"},
        ),
        RowFact("training_rows", "gold", "its label", of_row=True),
        RowFact(
            "training_rows",
            "confidence",
            "while it was trained on",
            beside={"variability": "spread over epochs", "correctness": "share of epochs in which it was right"},
            sorted_by=True,
            ends=("hardest to learn", "easiest to learn"),
        ),
        RowFact("training_rows", "region", "easy, ambiguous or hard", chosen_by=True, wrong=("hard",)),
        RowFact("never_learnt", "text", "text", shown="text"),
    ),
)
