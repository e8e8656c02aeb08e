"""`pretrain`: plain text in, a small encoder of its language and its learning curve out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from bertscope.core.config import check_choices, check_least
from bertscope.core.errors import UserError
from bertscope.core.question import Input, Question
from bertscope.training.finetune.question import FinetuneConfig

_VOCABULARIES = {256: 8192, 512: 16_384, math.inf: 30_000}
"""Under so many units, the usual vocabulary: more would be most of a small model."""
_HIGHEST, _WARMED = 0.3, 300  # learning rate times units; steps of warm-up that deep models need
_GOING_ON = 0.1  # learning rate times units, where a base has learnt already
_USUAL = {"layers": 6, "units": 256, "positions": 512}
_LEAST_BATCH, _MOST_BATCH, _STEPS_A_PASS = 4096, 131_072, 200
_PASSES = 10
_LEAST_ROW = 8  # tokens
USUAL_WEIGHT = 5.0
"""Of a teacher."""


@dataclass(frozen=True)
class PretrainConfig:
    """What is trained, how, and for how long. What is None goes by the model's size, or the text's."""

    init: Literal["pretrained", "random"] = "pretrained"
    """With --start. random: take only that model's vocabulary and shape, and draw all weights anew."""
    layers: int | None = None
    """Layers of the encoder; by default 6. With --start, the options from here to --positions come from that model.
   """
    heads: int | None = None
    """Attention heads per layer; by default one for every 32 units."""
    units: int | None = None
    """Hidden units, by default 256; each layer's MLP has four times as many."""
    vocabulary: int | None = None
    """Size of the vocabulary that is learnt from the text; by default 8,192 under 256 units, 16,384 under 512, else
    30,000, or as many pieces as the text gives."""
    cased: bool = False
    """Keep capitals and accents; otherwise both are removed, as in BERT's uncased models."""
    positions: int | None = None
    """The longest text that the model will read, in tokens; by default 512. With --start, that model's number, or
    more if you ask for more."""
    length: int = 128
    """Tokens per row, for most rows."""
    short_share: float = 0.25
    """The share of steps with rows about a quarter as long, which begin with a sentence where one is near, like the
    short texts that a model is asked about later; with --next-sentence half of them are pairs. With --length under 32
    there are none."""
    long_share: float = 0.1
    """The share of steps with rows as long as there are positions, so that all positions are learnt."""
    masking: Literal["words", "pieces"] = "words"
    """words: mask all pieces of a masked word together; pieces: each for itself."""
    mask_rate: float = 0.15
    """The share of a row's pieces that is masked."""
    next_sentence: bool = False
    """Also learn whether the second part of a row follows the first or is from elsewhere (BERT does, RoBERTa
    doesn't)."""
    teacher_weight: float = USUAL_WEIGHT
    """With --teacher: the weight of the loss on the teacher's states (scaled to variance 1) beside the loss of a
    masked piece."""
    minutes: float | None = None
    """The budget in minutes of training, including scoring and saving but not reading the text."""
    steps: int | None = None
    """The budget in steps; by default as many as go through the text 10 times."""
    batch_tokens: int | None = None
    """Tokens per step; by default as many as make 200 steps of the text, but between 4,096 and 131,072."""
    learning_rate: float | None = None
    """The peak learning rate, from which it decays linearly to 0; by default 0.3 divided by the units (1.2e-3 for
    256), and a third of that for a model that is trained further. Deep models learn nothing if it is too high; if it
    is too low, it takes them long to see how words belong together."""
    warmup: float | None = None
    """The share of the budget over which the learning rate rises; by default a tenth, or with few steps as much as
    makes 300, at most 0.3."""
    weight_decay: float = 0.01
    """AdamW's weight decay; biases and LayerNorm have none."""
    dropout: float = 0.1
    """Dropout during pre-training; the model that is written has 0.1, for fine-tuning."""
    held_out: float = 0.01
    """The share of documents that is held out for scoring."""
    keep: Literal["none", "log", "even"] = "none"
    """Which checkpoints to keep in the model's folder, as `checkpoint-N`, each a model: none; log: spaced by equal
    factors of steps, so that the beginning is seen; even: spaced by equal steps. The first is before any step, the
    last is the model."""
    checkpoints: int = 12
    """How many checkpoints to keep."""
    half: bool = False
    """Write weights in half precision (float16): half the size."""
    compiled: bool = False
    """On a GPU, compile the layers before the first step (torch.compile): takes a minute, and pays off over many
    steps."""
    seed: int = 0
    """Seed of the first weights, the order of the rows, masks and dropout."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_least(
            self, layers=1, heads=1, units=1, vocabulary=32, positions=8, length=8, minutes=0, steps=1,
            batch_tokens=8, learning_rate=0, weight_decay=0, teacher_weight=0, checkpoints=2, seed=0,
        )  # fmt: skip
        for name in ("mask_rate", "held_out"):
            if not 0 < (value := getattr(self, name)) < 1:
                raise UserError(f"{name.replace('_', '-')} is {value}; it must be above 0 and under 1")
        for name in ("short_share", "long_share", "warmup", "dropout"):
            if (value := getattr(self, name)) is not None and not 0 <= value < 1:
                raise UserError(f"{name.replace('_', '-')} is {value}; it must be from 0 to under 1")
        if self.minutes is not None and (self.steps is not None or not 0 < self.minutes < math.inf):
            raise UserError(f"minutes is {self.minutes} and steps is {self.steps}; give one of them, above 0")
        if self.lengths[self.length] <= 0:
            raise UserError(
                f"short-share is {self.short_share} and long-share {self.long_share}; together they must be under 1"
            )
        if self.n_units % self.n_heads:
            raise UserError(
                f"{self.n_units} units don't divide into {self.n_heads} heads; give other --heads or --units"
            )
        if self.positions is not None:  # otherwise the model that it starts from may know
            self._check_rows(self.positions)

    def _check_rows(self, positions: int) -> None:
        if self.length > positions:
            raise UserError(f"length is {self.length}, positions {positions}; rows can't be longer than that")
        if self.batch_tokens and self.batch_tokens % self._even_tokens:
            raise UserError(
                f"batch-tokens is {self.batch_tokens}; give a multiple of {self._even_tokens}: rows are full"
            )

    @property
    def n_layers(self) -> int:
        return self.layers or _USUAL["layers"]

    @property
    def n_units(self) -> int:
        return self.units or _USUAL["units"]

    @property
    def n_positions(self) -> int:
        return self.positions or _USUAL["positions"]

    @property
    def n_heads(self) -> int:
        return self.heads or max(1, self.n_units // 32)

    @property
    def usual_vocabulary(self) -> int:
        return next(size for below, size in _VOCABULARIES.items() if self.n_units < below)

    @property
    def short(self) -> int | None:
        """Tokens of short rows, if there are any: the nearest to a quarter that the usual length is divided by, since
        all steps have as many tokens. Usual rows that are short themselves have none beside them."""
        if not self.short_share or self.length < 4 * _LEAST_ROW:
            return None
        fits = [size for size in range(_LEAST_ROW, self.length // 2 + 1) if self.length % size == 0]
        return min(fits, key=lambda size: abs(size - self.length / 4), default=None)

    @property
    def long(self) -> int | None:
        """Tokens of long rows, if there are any: as many as there are positions."""
        return self.n_positions if self.long_share and self.n_positions > self.length else None

    @property
    def beside(self) -> dict[str, int]:
        """Tokens of the rows that aren't of the usual length."""
        return {name: size for name, size in (("short", self.short), ("long", self.long)) if size}

    @property
    def lengths(self) -> dict[int, float]:
        """Of the rows, and which share of the steps has them."""
        shares = {size: getattr(self, f"{name}_share") for name, size in self.beside.items()}
        return {self.length: 1 - sum(shares.values())} | shares

    @property
    def _even_tokens(self) -> int:
        return math.lcm(*self.lengths)

    def going_on(self, base: Mapping[str, int | bool]) -> PretrainConfig:
        """This config with the shape and vocabulary that a base has. Another one that was asked for is refused, but
        for more positions."""
        for name, has in base.items():
            if (wanted := getattr(self, name)) in (None, False, has) or (name == "positions" and wanted > has):
                continue
            words = f"{name} is {wanted}" if name != "cased" else "cased was asked for"
            held = f"the base's is {has}" if name != "cased" else "the base reads capitals as small letters"
            raise UserError(f"{words}, and {held}; leave it out with --start")
        known: dict[str, Any] = dict(base)
        more = max(base["positions"], self.positions or 0)
        rate = self.learning_rate
        if rate is None and self.init == "pretrained":
            rate = float(f"{_GOING_ON / base['units']:.2g}")
        return replace(self, **(known | {"positions": more, "learning_rate": rate}))

    def settled(self, pieces: int) -> PretrainConfig:
        """This config with every None filled in, by the usual shape and by how many pieces the text has."""
        tokens = self.batch_tokens or self._batch(pieces)
        steps = self.steps
        if steps is None and self.minutes is None:
            steps = max(1, round(_PASSES * pieces / tokens))
        rate = self.learning_rate or float(f"{_HIGHEST / self.n_units:.2g}")
        few = 0.1 if steps is None else min(0.3, max(0.1, _WARMED / steps))
        warmup = few if self.warmup is None else self.warmup
        return replace(
            self, batch_tokens=tokens, steps=steps, learning_rate=rate, warmup=warmup, heads=self.n_heads,
            layers=self.n_layers, units=self.n_units, positions=self.n_positions,
        )  # fmt: skip

    def _batch(self, pieces: int) -> int:
        wanted = min(max(pieces // _STEPS_A_PASS, _LEAST_BATCH), _MOST_BATCH)
        return max(1, 2 ** int(math.log2(wanted)) // self._even_tokens) * self._even_tokens

    def training(self) -> FinetuneConfig:
        """What the loop needs to know of it, once it is settled."""
        assert self.batch_tokens and self.learning_rate
        return FinetuneConfig(
            recipe="paper", learning_rate=self.learning_rate, warmup=self.warmup, weight_decay=self.weight_decay,
            batch_size=self.batch_tokens // self.length, seed=self.seed,
        )  # fmt: skip


pretrain = Question(
    __name__,
    """A WordPiece vocabulary is learnt from the texts, a BERT is drawn at random, and it learns to guess masked
    words: in half precision with recorded steps on a GPU, in single precision elsewhere. Files are plain text, also
    .gz or .xz, or patterns of them in quotes; blank lines separate documents, some of which are held out and
    scored. The learning rate rises, and falls to 0 by the end of the budget. With `out`, a plain Hugging Face
    folder is written there. A teacher first reads all of the text once, unmasked; the pupil also learns to predict
    the teacher's states through a linear map of its last states, which isn't kept. With a model to start from
    nothing is drawn: it goes on learning from these texts, with its own vocabulary. A pre-training that was killed
    continues from the last point of its curve.""",
    config=PretrainConfig,
    inputs={"texts": Input("documents", many=True)},
    optional={
        "start": Input("model", flag="A BERT to train further, with its vocabulary, shape and weights."),
        "teacher": Input("model", flag="A larger encoder, whose last states for each word are learnt too."),
    },
    version=6,
    main="accuracy",
    better="higher",
    cite="Devlin et al. 2019, BERT: Pre-training of Deep Bidirectional Transformers",
    keeps="model",
    numbers={
        "accuracy": "masked pieces of held-out text that are guessed",
        "before": "before any step",
        "chance": "always the most frequent piece",
        "held_out_loss": "loss on held-out text",
        "bits_per_word": "bits for a masked word of held-out text",
        "short_bits_per_word": "bits for a masked word of few pieces in short rows of held-out text",
        "long_bits_per_word": "bits for a masked word in rows of held-out text as long as there are positions",
        "next_sentence": "whether a second part follows, held-out text",
        "taught": "variance of the teacher's states that is explained, held-out text",
    },
    columns={
        "curve": {
            "loss": "mean loss of the steps since the point before, on the text that is learnt from",
            "accuracy": "share of the masked pieces of held-out text that are guessed, whole words at 15%",
            "seconds": "since the first step, scoring and keeping included",
        }
    },
)
