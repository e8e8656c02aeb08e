"""`erase`: what a model loses when a layer no longer tells a label that a linear probe can read off it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bertscope.analyses.probe.question import OF_WORDS
from bertscope.analyses.states import open_states, state_steps
from bertscope.core.catalogue import question
from bertscope.core.config import check_known, check_least
from bertscope.core.errors import UserError
from bertscope.core.registry import find
from bertscope.core.result import Result
from bertscope.core.step import Root, Step
from bertscope.data.corpus import open_examples

if TYPE_CHECKING:
    from bertscope.core.examples import Examples
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder
    from bertscope.models.states_store import StatesStore


Likeness = Literal["rank", "variance"]
LIKENESSES: tuple[Likeness, ...] = ("rank", "variance")


@dataclass(frozen=True)
class EraseConfig:
    """What is erased, where, and what it is compared with."""

    targets: tuple[str, ...] = ("pos",)
    """What to erase, each alone: pos, relation, frame, entity, gender, word (which of the most frequent)."""
    task: str | None = None
    """The task whose score is measured, for a model that was fine-tuned on it: what --on takes. A file's
    columns need usual names (text, label): --text and --label are those of --on."""
    layers: tuple[int, ...] = ()
    """After which layers, each alone; 0 is the embeddings' output. All, if none are named."""
    random: int = 5
    """Random subspaces of each kind that are erased instead, for each target and layer. Each costs on average half a
    pass through the model; a p-value can't be lower than 1 / (1 + random)."""
    like: tuple[Likeness, ...] = LIKENESSES
    """What random subspaces have in common with what is erased. rank: nothing but the rank; variance: also about as
    much of the vectors' variance, of which a label mostly has more than a random subspace."""
    words: int = 10000
    """At most so many words to learn from what to erase."""
    texts: int = 200
    """At most so many texts to measure the score or the loss on."""
    types: int = 50
    """Of the target `word`: how many of the most frequent words."""
    repeats: int = 2000
    """Bootstrap resamples of the texts behind each interval."""
    seed: int = 0
    """Of the split of the texts, the random subspaces, the masked tokens, the probes and the resampling."""

    def __post_init__(self) -> None:
        if not self.targets:
            raise UserError("nothing to erase; name a target such as pos")
        check_known("target", self.targets, OF_WORDS)
        if not self.like:
            raise UserError(f"nothing to compare with; name some of {', '.join(LIKENESSES)}")
        check_known("likeness", self.like, LIKENESSES)
        check_least(self, random=1, words=10, texts=2, types=2, repeats=100, seed=0)


def plan(model: Step | Root, examples: Root, config: EraseConfig = EraseConfig()) -> Step:  # noqa: B008 (frozen)
    """The hidden states, which other questions share, and the step that reads them."""
    from bertscope.data.read import task_root

    inputs: dict[str, Step | Root] = {"model": model, "examples": examples}
    inputs["states"] = state_steps([model], examples)["states.0"]
    if config.task is not None:
        inputs["task"] = task_root(config.task)
    return find("erase").step(inputs, config)


def check(examples: Examples, config: EraseConfig) -> None:
    """Refuse texts that don't tell what is to be erased."""
    from bertscope.analyses.probe.targets import Limits, choose_targets

    choose_targets(examples, config.targets, Limits(words=config.words, types=config.types), OF_WORDS)


@question(
    "erase",
    inputs=("model", "examples"),
    optional=("task", "states"),
    version=2,
    main="score",
    cite="Belrose et al. 2023, LEACE: Perfect linear concept erasure in closed form; Elazar et al. 2021, Amnesic "
    "Probing: Behavioral Explanation with Amnesic Counterfactuals",
    plan=plan,
    check=check,
    columns={
        "curves": {"low, high": "ends of the 95% interval; of random subspaces the lowest and the highest"},
        "effects": {"random_low, random_high": "the lowest and the highest of the random subspaces"},
    },
)
def erase(
    model: Encoder | str,
    examples: Examples | str,
    config: EraseConfig = EraseConfig(),  # noqa: B008 (frozen)
    *,
    task: Task | str | None = None,
    states: StatesStore | None = None,
) -> Result:
    """Does the model use what a layer knows?

    At one layer after the other, all that a linear probe could read of a label is erased from the vectors of all
    words (LEACE), and the layers above go on from there. What that costs the fine-tuned model on its task, or the
    masked language model in its guesses, is compared with the cost of random subspaces of the same rank, and of such
    that have as much of the variance.
    """
    from bertscope.analyses.erase.measures import Erasing, ability_of
    from bertscope.analyses.erase.result import make_result
    from bertscope.analyses.probe.targets import Limits, choose_targets
    from bertscope.data.read import read_task
    from bertscope.models.load import load

    model = load(model) if isinstance(model, str) else model
    examples = open_examples(examples)
    task = config.task if task is None else task
    task = read_task(task) if isinstance(task, str) else task
    limits = Limits(words=config.words, types=config.types)
    targets, _ = choose_targets(examples, config.targets, limits, OF_WORDS)
    measured = ability_of(model, examples, task, config)
    ((_, store),) = open_states([states or model], examples).items()
    if unknown := [layer for layer in config.layers if layer not in store.layers]:
        raise UserError(f"{model.name} has the layers 0 to {model.n_layers}, not {unknown[0]}")
    layers = sorted(set(config.layers)) or list(store.layers)
    erased = [Erasing.of(target, examples, store, layers, limits, config) for target in targets]
    result = make_result(model, measured, erased, layers, config)
    result.subject = {"model": model.name} | ({"task": task.name} if task else {})
    result.subject |= {"erased by": examples.name} if examples.name else {}
    left_out = [f"{len(store.left_out)} texts of {examples.name} are longer than the model reads and were left out"]
    result.notes = [
        *examples.notes, *(task.notes if task else ()), *measured.notes, *(left_out if store.left_out else ())
    ]  # fmt: skip
    return result
