"""What experiments share: fine-tunings by a recipe, as steps, and the depth of what they start from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Protocol

from bertscope.core import lineage
from bertscope.core.errors import UserError
from bertscope.core.layers import Layers
from bertscope.core.step import Root, Step
from bertscope.models.families import family_of
from bertscope.models.source import config_of_root, layers_of
from bertscope.training.finetune.question import FinetuneConfig, finetune


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


def fine_tunings(base: Step | Root, task: Root, how: Sequence[FinetuneConfig]) -> dict[str, Step]:
    """A step for each, as the inputs `tuned.0`, `tuned.1` ... of the step that compares them. What models of the
    base's family can't lose or hold still is refused now, not when its turn comes."""
    _refuse_unfit(base, how)
    steps = (finetune.step({"base": base, "task": task}, each) for each in how)
    return {f"tuned.{place}": step for place, step in enumerate(steps)}


def refuse_losing(base: Step | Root, sets: Iterable[Layers]) -> None:
    """Refuse to leave out layers that models of the base's family can't do without."""
    family, name = family_of(_config(base)["model_type"]), _root(base).source
    for layers in sets:
        family.refuse_losing(layers.numbers, name)


def _refuse_unfit(base: Step | Root, how: Sequence[FinetuneConfig]) -> None:
    config, whole, name = _config(base), depth(base), _root(base).source  # once: each look at a hub id asks the hub
    family, kind = family_of(config["model_type"]), config["model_type"]
    for each in how:
        family.refuse_losing(each.left_out.numbers, name)
        left = whole - len(each.left_out.numbers)
        family.refuse_holding(each.held.numbers, left, int(config.get("num_hidden_groups", 1)), name)
        if not each.pooler:
            family.need_pooler(kind)
        if each.dropout is not None:
            family.need_dropout(kind)


def depth(base: Step | Root) -> int:
    """How many layers the base has, or will have once it is made."""
    steps = [one for one in lineage.descent(base) if isinstance(one, Step)]
    left_out = (Layers.parse(str(step.config.get("without", ""))).numbers for step in steps)
    return layers_of(_root(base)) - sum(map(len, left_out))


def _config(base: Step | Root) -> dict[str, Any]:
    """The config of what the base is, or is made from."""
    return config_of_root(_root(base))


def _root(base: Step | Root) -> Root:
    """What the base began as."""
    root = lineage.base(base)
    if root is None:
        assert isinstance(base, Step)
        raise UserError(f"what {base.name} makes has no depth before it is made; give a model")
    return root
