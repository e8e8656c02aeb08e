"""What experiments share: fine-tunings by a recipe, as steps, and how to know them again.

A step's inputs `tuned.0`, `tuned.1` reach the function that compares them as a list, and neither the number nor the
place in the list says anything. Which training something is of, it says itself: a training's result by its subject's
`seed` and by the settings that it was run with, anything about a model (hidden states, attention, the model itself)
by the origin in the model's record; `settings_of` reads both, `found_again` puts them in order. An arm is a value of
these settings (what is frozen, left out, drawn at random). Where an arm has a name instead (`scratch`, `bias`), it is
that of the input that holds its trainings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from bertscope.core import lineage
from bertscope.core.config import from_json
from bertscope.core.errors import UserError
from bertscope.core.layers import Layers
from bertscope.core.model_record import ModelRecord
from bertscope.core.step import Root, Step
from bertscope.models.families import family_of
from bertscope.models.source import config_of_root, layers_of
from bertscope.training.finetune.question import FinetuneConfig, finetune

if TYPE_CHECKING:
    from bertscope.core.result import Result

Thing = TypeVar("Thing")
Key = TypeVar("Key", bound=Hashable)


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
    """A step for each, as the input `tuned` of the step that compares them. What models of the
    base's family can't lose or hold still is refused now, not when its turn comes."""
    _refuse_unfit(base, how)
    steps = (finetune.step({"base": base, "task": task}, each) for each in how)
    return {f"tuned.{place}": step for place, step in enumerate(steps)}


def marking(base: Step | Root, task: Root) -> dict[str, Step | Root]:
    """The base as the input `base` of the step that compares trainings, where only its tokenizer can say what is
    right in the task."""
    from bertscope.data.read import needs_model

    return {"base": base} if needs_model(task) else {}


def settings_of(trained: Result | ModelRecord) -> FinetuneConfig:
    """With which settings a model was fine-tuned: as the training's result says, or the record of the model; the
    defaults where that isn't recorded."""
    if isinstance(trained, ModelRecord):
        return from_json(FinetuneConfig, trained.origin.recipe if trained.origin else {})
    return from_json(FinetuneConfig, trained.provenance["settings"])


def found_again(given: Iterable[Thing], key: Callable[[Thing], Key], wanted: Sequence[Key]) -> dict[Key, Thing]:
    """Of what was given, the one of each key, in the order of these; `key` reads it off the thing itself."""
    found = [(key(one), one) for one in given]
    if Counter(one for one, _ in found) != Counter(wanted):
        have, need = ("; ".join(map(str, some)) or "none" for some in ([one for one, _ in found], wanted))
        raise UserError(f"what is compared are trainings of {have}, but needed is one of each of {need}")
    return {one: dict(found)[one] for one in wanted}


def by_seed(trainings: Iterable[Result], seeds: Sequence[int]) -> dict[int, Result]:
    """The trainings of an arm by their seeds, in the order of these."""
    return found_again(trainings, lambda training: int(training.subject["seed"]), seeds)


def only_model(result: Result) -> ModelRecord:
    """The model that a result is about, where it is about one."""
    (model,) = result.models.values()
    return model


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
