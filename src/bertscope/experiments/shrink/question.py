"""`shrink`: a smaller, faster model that still does the task."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bertscope.core.catalogue import question
from bertscope.core.config import check_choices, check_least
from bertscope.core.errors import UserError
from bertscope.core.result import Result
from bertscope.experiments.shrink.targets import Target
from bertscope.experiments.trainings import by_recipe
from bertscope.models.source import SHRUNK
from bertscope.training.finetune.question import FinetuneConfig

if TYPE_CHECKING:
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder


@dataclass(frozen=True)
class ShrinkConfig:
    """How small the model shall be, and how it gets there."""

    target: str | None = None
    """2x: so many times as fast, measured on this machine; 50%: so much of the blocks' parameters is left; '1 point':
    at most 0.01 of the metric is lost on the validation set. By default 2x, or what --pruned leaves."""
    batch: int = 32
    """How many texts go through the model at a time where speed counts: heads and neurons speed up many at once,
    a single text gains most by losing whole layers."""
    shape: Literal["free", "plain"] = "free"
    """plain: only cuts that transformers can open without this package: whole layers, and as many neurons in each."""
    retrain: bool = True
    """Train what is left on the training set; --no-retrain only cuts."""
    distill: bool = False
    """Train it on what the whole model says, too, not on the labels alone."""
    temperature: float = 2.0
    """How much distillation softens probabilities."""
    recipe: Literal["auto", "paper", "pocket"] = "auto"
    """How to train where the rest isn't given: paper for bert-base, pocket for small encoders, auto by width."""
    epochs: int | None = None
    """How often the training set is gone through; by default what the recipe says."""
    learning_rate: float | None = None
    """The highest learning rate; by default what the recipe says."""
    step: float = 0.0625
    """How much of the model's cost goes before it is asked anew what it can do without."""
    rows: int = 512
    """How many rows of the validation set the search looks at."""
    curve: bool = False
    """Also cut to other sizes, and try what else one could do: remove the top layers, prune single weights, train the
    whole model on. Each is trained like the cut model, which takes its time."""
    onnx: bool = True
    """Write ONNX files, in float32 and int8; --no-onnx leaves them out."""
    timed_on: Literal["same", "cpu"] = "same"
    """Where speed is measured: on the device that the model is on, or on the CPU though it is trained on a GPU."""
    force: bool = False
    """Go on where the whole model isn't clearly above chance."""
    seed: int = 0
    """Of the training, and of the rows and texts that are drawn."""

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


@dataclass(frozen=True)
class Shrunk:
    encoder: Encoder
    result: Result


@question(
    "shrink",
    inputs=("model", "task"),
    optional=("pruned",),
    version=2,
    main="faster",
    better="higher",
    cite="Michel et al. 2019, Are Sixteen Heads Really Better than One?; Sajjad et al. 2023, On the Effect of "
    "Dropping Layers of Pre-trained Transformer Models; Hinton et al. 2015, Distilling the Knowledge in a Neural "
    "Network",
    keeps="model",
    folder=SHRUNK,
    card=(),  # its table of costs has what a layer and a head cost, not which they are
)
def shrink(
    model: Encoder | str,
    task: Task | str,
    config: ShrinkConfig = ShrinkConfig(),  # noqa: B008 (frozen)
    *,
    pruned: Result | str | None = None,
    out: str | Path | None = None,
) -> Shrunk:
    """Cut a model down to what its task needs.

    Heads, MLPs, neurons and layers go, the least needed for what they save first, by the validation set; what is left
    is trained again. `pruned` is a stored answer of `prune`: what it pruned is gone from the start. With `out`, the
    model is written there, for bertscope, for onnxruntime and, where its shape allows it, for plain transformers,
    with a card that says what was cut and what it cost.
    """
    from bertscope.data.read import read_task
    from bertscope.experiments.shrink.measure import Shrinking
    from bertscope.models.load import load

    model = load(model) if isinstance(model, str) else model
    task = read_task(task) if isinstance(task, str) else task
    pruned = Result.load(pruned) if isinstance(pruned, str) else pruned
    return Shrinking(model, task, config, pruned).run(None if out is None else Path(out))
