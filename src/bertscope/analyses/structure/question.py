"""`structure`: whether a layer's vectors hold the dependency tree, by structural probes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertscope.analyses.side_by_side import subject
from bertscope.analyses.states import StatesConfig, open_states, opened, state_steps
from bertscope.core.catalogue import question
from bertscope.core.config import check_least
from bertscope.core.errors import UserError
from bertscope.core.registry import find
from bertscope.core.result import Result
from bertscope.core.step import Root, Step
from bertscope.data.corpus import open_examples

if TYPE_CHECKING:
    from bertscope.analyses.states import Given
    from bertscope.core.examples import Examples
    from bertscope.models.encoder import Encoder
    from bertscope.models.states_store import StatesStore


@dataclass(frozen=True)
class StructureConfig:
    """How the probes are trained, and what they are set beside."""

    ranks: tuple[int, ...] = (64,)
    """The probes' ranks, all trained together. In the paper, ranks above 64 add less than half a point of UUAS. A
    rank above a model's width is its width."""
    control: bool = True
    """Also train the best layer's probes on random trees of the same shapes: what a probe finds where nothing is."""
    random: bool = True
    """Also probe the first model with random weights: what its architecture and the words alone give."""
    epochs: int = 40
    """The most epochs; a probe stops after 5 without a gain on the validation sentences."""
    batch_size: int = 20
    """Sentences per step."""
    learning_rate: float = 1e-3
    """Adam's at the start; it falls to a tenth after each epoch without a gain."""
    show: tuple[str, ...] = ()
    """The ids of scored sentences whose trees are drawn."""
    sentences: int = 4
    """How many trees are drawn if none are named: short ones, chosen by a hash of their ids."""
    repeats: int = 1000
    """Bootstrap resamples behind each interval."""
    seed: int = 0
    """Decides the split, the probes' first weights, the order of the sentences, the random trees, the random model's
    weights and the resampling."""

    def __post_init__(self) -> None:
        if not self.ranks or min(self.ranks) < 1 or len(set(self.ranks)) < len(self.ranks):
            raise UserError(f"ranks are {self.ranks}; give one or more different numbers, each at least 1")
        check_least(self, epochs=1, batch_size=1, sentences=0, repeats=100, seed=0)
        if not self.learning_rate > 0:
            raise UserError(f"learning-rate is {self.learning_rate}; it must be above 0")


def plan(*arguments: Any, train: Root | None = None) -> Step:
    """The steps that keep each model's states, and the random model's, of both corpora, and the step that probes."""
    *models, examples, config = arguments
    inputs: dict[str, Step | Root] = {"examples": examples} | ({"train": train} if train else {})
    for name, corpus in (("states", examples), ("train_states", train)):
        if corpus is not None:
            inputs |= state_steps(models, corpus, name=name)
            if config.random:
                unlearned = StatesConfig(init="random", seed=config.seed)
                inputs[f"{name}.{len(models)}"] = find("states").step(
                    {"model": models[0], "examples": corpus}, unlearned
                )
    return find("structure").step(inputs, config)


def check(examples: Examples, config: StructureConfig) -> None:
    """Refuse what has no trees."""
    from bertscope.analyses.structure.trees import Trees

    Trees.of(examples)


@question(
    "structure",
    inputs=("states", "examples"),
    optional=("train", "train_states"),
    version=2,
    main="UUAS",
    better="higher",
    cite="Hewitt and Manning 2019, A Structural Probe for Finding Syntax in Word Representations; Hewitt and Liang "
    "2019, Designing and Interpreting Probes with Control Tasks",
    plan=plan,
    check=check,
    card=(),  # its table of trees has heads too: the words that others depend on
)
def structure(
    states: Given | Sequence[Given],
    examples: Examples | str,
    config: StructureConfig = StructureConfig(),  # noqa: B008 (frozen)
    *,
    train: Examples | str | None = None,
    train_states: Given | Sequence[Given] | None = None,
) -> Result:
    """Does a layer hold the syntax tree?

    Linear maps are trained under which squared distances between words are their distances in the dependency tree,
    and squared lengths their depths: one of each for every layer of every checkpoint, all at once. They are scored on
    other sentences, beside a chain of words, random weights and random trees. `train` is another corpus to train on;
    without it one corpus is split in three. From Python, states that are stores already must include the random
    model's, and `train_states` holds theirs of `train`.
    """
    from bertscope.analyses.structure.data import gather
    from bertscope.analyses.structure.result import structure_result
    from bertscope.analyses.structure.study import study
    from bertscope.analyses.structure.trees import Trees
    from bertscope.models.evaluating import full_precision

    examples = open_examples(examples)
    train = open_examples(train) if train is not None else None
    for texts in (examples, train):
        if texts is not None:
            Trees.of(texts)  # what has no trees is refused before a model runs
    given = _with_random(states, config)
    scored = open_states(given, examples)
    fitted = None if train is None else open_states(given if train_states is None else train_states, train)
    material = gather(scored, examples, fitted, train, config.seed)
    with full_precision():
        result = structure_result(study(material, config), material)
    trained_on = {"probes trained on": train.name} if train is not None and train.name else {}
    result.subject = subject(list(scored), examples, weighted=False) | trained_on
    result.notes = [*examples.notes, *(train.notes if train else ()), *result.notes]
    return result


def _with_random(states: Given | Sequence[Given], config: StructureConfig) -> list[StatesStore | Encoder]:
    """The states as a list, models loaded, and the first model with random weights among them if it is asked for."""
    from bertscope.models.encoder import Encoder
    from bertscope.models.new_task_head import with_random_weights

    given = list(opened(states))
    if config.random and isinstance(given[0], Encoder):
        given.append(with_random_weights(given[0], config.seed))
    return given
