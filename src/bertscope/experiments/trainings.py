"""What experiments share: fine-tunings by a recipe, as steps, and the depth of what they start from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Protocol

from bertscope.core.catalogue import spec
from bertscope.core.errors import UserError
from bertscope.core.layers import Layers
from bertscope.core.step import Root, Step
from bertscope.models.source import layers_of
from bertscope.training.finetune import FinetuneConfig


class Recipe(Protocol):
    """The settings by which an experiment has its models trained."""

    @property
    def recipe(self) -> Literal["auto", "paper", "pocket"]: ...
    @property
    def epochs(self) -> int | None: ...
    @property
    def learning_rate(self) -> float | None: ...


def by_recipe(config: Recipe, **more: Any) -> FinetuneConfig:
    """A fine-tuning as the experiment's config has it."""
    return FinetuneConfig(recipe=config.recipe, epochs=config.epochs, learning_rate=config.learning_rate, **more)


def fine_tunings(base: Step | Root, task: Root, how: Iterable[FinetuneConfig]) -> dict[str, Step]:
    """A step for each, as the inputs `tuned.0`, `tuned.1` ... of the step that compares them."""
    steps = (spec("finetune").step({"base": base, "task": task}, each) for each in how)
    return {f"tuned.{place}": step for place, step in enumerate(steps)}


def depth(base: Step | Root) -> int:
    """How many layers the base has, or will have once it is made."""
    if isinstance(base, Root):
        return layers_of(base)
    below = base.inputs.get("base") or base.inputs.get("model")
    if below is None:
        raise UserError(f"what {base.name} makes has no depth before it is made; give a model")
    return depth(below) - len(Layers.parse(str(base.config.get("without", ""))).numbers)
