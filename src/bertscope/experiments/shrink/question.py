"""`shrink`: a smaller, faster model that still does the task."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from bertscope.core.config import check_choices, check_least
from bertscope.core.errors import UserError
from bertscope.core.question import MODEL, TASK, Input, Question
from bertscope.core.scoring import Scoring
from bertscope.experiments.trainings import by_recipe
from bertscope.models.source import EXPORT
from bertscope.training.finetune.question import FinetuneConfig

_FORMS: tuple[tuple[Literal["times", "share", "points"], str], ...] = (
    ("times", r"(\d+(?:\.\d+)?) ?x"),
    ("share", r"(\d+(?:\.\d+)?) ?%"),
    ("points", r"(\d+(?:\.\d+)?) ?points?"),
)


@dataclass(frozen=True)
class Target:
    """How far to go."""

    kind: Literal["times", "share", "points"]
    """times: as fast as the whole model, measured; share: of the blocks' parameters that is left; points: hundredths
    of the metric that may be lost on the validation set."""
    value: float
    """2 for `2x`, 0.5 for `50%`, 0.01 for `1 point`."""

    @classmethod
    def parse(cls, text: str) -> Target:
        """
        >>> Target.parse("2x"), Target.parse("50%").value, Target.parse("1 point").value
        (Target(kind='times', value=2.0), 0.5, 0.01)
        """
        for kind, form in _FORMS:
            if match := re.fullmatch(form, text.strip().lower()):
                number = float(match[1])
                return cls(kind, number if kind == "times" else number / 100)._checked(text)
        raise UserError(
            f"{text!r} is no target; write 2x (twice as fast), 50% (half of the blocks' parameters left) or "
            "'1 point' (0.01 of the metric may be lost)"
        )

    def _checked(self, text: str) -> Target:
        if self.kind == "times" and self.value <= 1:
            raise UserError(f"target {text!r} asks for no faster model; write more than 1x, such as 2x")
        if self.kind == "share" and not 0 < self.value < 1:
            raise UserError(f"target {text!r} is no share of parameters that could be left; write 1% to 99%")
        if self.kind == "points" and not 0 < self.value < 1:
            raise UserError(f"target {text!r} is no loss one could allow; write a number between 0 and 100 points")
        return self

    def __str__(self) -> str:
        if self.kind == "times":
            return f"{self.value:g}x"
        points = 100 * self.value
        return f"{points:g}%" if self.kind == "share" else f"{points:g} point{'s' * (points != 1)}"


@dataclass(frozen=True)
class ShrinkConfig:
    """How small the model shall be, and how it gets there."""

    target: str | None = None
    """2x: twice as fast, measured on this machine; 50%: half of the blocks' parameters left; '1 point': at most 0.01
    of the metric lost on the validation set. By default 2x, or what --pruned leaves."""
    batch: int = 32
    """How many texts go through the model at a time when speed is measured: removing heads and neurons speeds up
    many texts at once, a single text gains most from removing whole layers."""
    shape: Literal["free", "plain"] = "free"
    """plain: only cuts that transformers can open without this package: whole layers, and equally many neurons in
    each."""
    retrain: bool = True
    """Train what is left on the training set; --no-retrain only cuts."""
    distill: bool = False
    """Train it on the whole model's predictions too, not on the labels alone."""
    temperature: float = 2.0
    """How much distillation softens probabilities."""
    recipe: Literal["auto", "paper", "pocket"] = "auto"
    """The recipe for what isn't given below: auto goes by the model's width and the number of rows; paper and pocket
    as for finetune."""
    epochs: int | None = None
    """Passes over the training set; by default the recipe's."""
    learning_rate: float | None = None
    """The peak learning rate; by default the recipe's."""
    step: float = 0.0625
    """The share of the model's cost to remove before measuring again what it can do without."""
    rows: int = 512
    """How many validation rows the search looks at."""
    curve: bool = False
    """Also cut to other sizes, and try the alternatives: remove the top layers, prune single weights, train the
    whole model further. Each is trained like the cut model, so this takes long."""
    onnx: bool = True
    """Write ONNX files, in float32 and int8, and compare them; --no-onnx leaves them out."""
    timed_on: Literal["same", "cpu"] = "same"
    """Where to measure speed: on the device that the model is on, or on the CPU even if it is trained on a GPU."""
    force: bool = False
    """Continue even if the whole model isn't clearly above chance."""
    seed: int = 0
    """Seed of the training, and of the rows and texts that are drawn."""

    def __post_init__(self) -> None:
        if self.target is not None:
            Target.parse(self.target)
        check_choices(self)
        check_least(self, batch=1, rows=1)
        if not 0 < self.step <= 0.5:
            raise UserError(f"step is {self.step}; it must be above 0 and at most 0.5")
        if not self.temperature > 0:
            raise UserError(f"temperature is {self.temperature}; it must be above 0")
        self.training  # refuses what can't work  # noqa: B018

    @property
    def training(self) -> FinetuneConfig:
        """How what is left is trained."""
        return by_recipe(self, seed=self.seed)


shrink = Question(
    __name__,
    """Heads, MLPs, neurons and layers are removed, those first that the model needs least for what they save, by
    the validation set; what is left is trained again. Beside it stand what needs no search and no training, the
    whole model in int8, and both at once; which of the three to take is decided on the validation set. `pruned` is
    a stored answer of `prune`: what it pruned is removed from the start. With `out`, the cut model is written
    there, for bertscope, for onnxruntime and, if its shape allows it, for plain transformers, and the whole one in
    int8 if that is the one to take; with a model card that says which to take, what was cut, what it cost and where
    its answers differ.""",
    config=ShrinkConfig,
    inputs={"model": MODEL, "task": TASK},
    optional={
        "pruned": Input("result", flag="The folder of a stored prune or lottery: what it pruned is cut first.")
    },
    scoring=Scoring(),
    version=5,
    main="faster",
    better="higher",
    numbers={
        "faster": "faster, {arm} ({texts} at a time)",
        "left": "left",
        "size": "size, {arm}",
        "score": "score, {arm}",
        "change": "change, {arm}",
        "kept": "kept of the score above chance, {arm}",
        "chance": "chance",
        "fixed": "rows fixed, {arm}",
        "broken": "rows broken, {arm}",
    },
    columns={
        "changed_by_label": {
            "a": "of the whole model",
            "b": "of this form",
            "low, high": "95% interval of the change, paired",
        },
        "versus": {"flips": "the share of rows that get another answer"},
        "differences": {
            "a": "of the whole model",
            "b": "of this form",
            "low, high": "95% interval of the change, paired",
        },
        "forms": {
            "size": "on disk, as a share of the whole model's",
            "change": "of the score on the validation set, from the whole model's",
            "meets": "whether it is as fast, as small or as good as the target says",
            "as_good": "whether its score on the validation set is at most a point below the best one's",
            "best": "whether it is the one to take",
        },
    },
    words={
        "arm": {
            "whole": "whole",
            "cut": "cut",
            "whole_onnx": "whole, onnxruntime",
            "whole_int8": "whole, int8",
            "cut_onnx": "cut, onnxruntime",
            "cut_int8": "cut, int8",
            "whole_trained_on": "whole, trained on",
        },
        "way": {
            "whole_onnx": "whole, onnxruntime",
            "cut_onnx": "cut, onnxruntime",
            "top_layers_removed": "top layers removed",
            "magnitude_pruning": "magnitude pruning",
        },
        "move": {"heads_and_neurons": "heads and neurons", "mlp": "MLP"},
    },
    cite="Michel et al. 2019, Are Sixteen Heads Really Better than One?; Sajjad et al. 2023, On the Effect of "
    "Dropping Layers of Pre-trained Transformer Models; Hinton et al. 2015, Distilling the Knowledge in a Neural "
    "Network",
    compared="how many times as fast the form to take is",
    keeps="model",
    folder=EXPORT,
    card=(),  # its table of costs has what a layer and a head cost, not which they are
)
