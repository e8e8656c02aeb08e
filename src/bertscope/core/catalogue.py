"""What bertscope can do, by name: enough for help and planning, without loading anything heavy.

`CATALOGUE` maps each name to the function that does it and to the line that help shows. The function itself is
declared with `@question` where it is written; a test compares both. A module named here imports neither torch nor
pandas at its top, so that its config can become flags and study keys in no time.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from bertscope.core import config as configs
from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.head_card import HeadFact, HeadMaps
from bertscope.core.provenance import capture
from bertscope.core.step import Root, Step


@dataclass(frozen=True)
class Entry:
    target: str
    """`module:function`."""
    line: str
    """The question it answers, as help and the report's heading print it."""
    command: bool = True
    """Whether it is a command of its own; otherwise it is a step of some experiment."""


# In the order in which the report tells them: findings first, the trainings they rest on last.
CATALOGUE = {
    "claims": Entry("bertscope.study.claims.question:claims", "Which of the papers' claims hold here?"),
    "scratch": Entry("bertscope.experiments.scratch.question:scratch", "What does pretraining give?"),
    "truncate": Entry("bertscope.experiments.truncate.question:truncate", "Are the top layers needed?"),
    "freeze": Entry("bertscope.experiments.freeze.question:freeze", "Which layers need training?"),
    "patterns": Entry("bertscope.analyses.patterns.question:patterns", "What shape is each head's attention?"),
    "change": Entry("bertscope.analyses.change.question:change", "What did fine-tuning change in the attention?"),
    "features": Entry(
        "bertscope.analyses.features.question:features",
        "Which words draw attention, and which words attend to which?",
    ),
    "relations": Entry(
        "bertscope.analyses.relations.question:relations", "Which heads link words that stand in a relation?"
    ),
    "redundancy": Entry(
        "bertscope.analyses.redundancy.question:redundancy", "How different are the heads from each other?"
    ),
    "ablate": Entry(
        "bertscope.analyses.ablate.question:ablate", "What if a head, an MLP or a layer is switched off?"
    ),
    "importance": Entry(
        "bertscope.analyses.importance.question:importance", "How important is each head and MLP, by gradient?"
    ),
    "lottery": Entry(
        "bertscope.experiments.lottery.question:lottery",
        "How small a subnetwork still does the task, and does it train again?",
    ),
    "overlap": Entry("bertscope.experiments.overlap:overlap", "Do lotteries find the same heads?"),
    "prune": Entry(
        "bertscope.experiments.prune.question:prune", "How small a part of a fine-tuned model still does its task?"
    ),
    "similarity": Entry(
        "bertscope.analyses.similarity.question:similarity", "How far did each layer's representation move?"
    ),
    "structure": Entry("bertscope.analyses.structure.question:structure", "Does a layer hold the syntax tree?"),
    "probe": Entry("bertscope.analyses.probe.question:probe", "What else does a layer know?"),
    "erase": Entry("bertscope.analyses.erase.question:erase", "Does the model use what a layer knows?"),
    "project": Entry(
        "bertscope.analyses.project.question:project", "How do a sentence's tokens travel through the layers?"
    ),
    "geometry": Entry(
        "bertscope.analyses.geometry.question:geometry", "Is the space a cone, and how contextual are its words?"
    ),
    "bias": Entry("bertscope.experiments.bias.question:bias", "What does a gap in the training data do?"),
    "untuned": Entry(
        "bertscope.experiments.scratch.untuned:untuned", "Answer the test texts before any training.", command=False
    ),
    "swap": Entry(
        "bertscope.experiments.bias.swap:swap", "Answer the test texts with words exchanged.", command=False
    ),
    "contrast": Entry("bertscope.experiments.contrast.question:contrast", "Does contrastive training open the cone?"),
    "sentences": Entry(
        "bertscope.analyses.sentences.question:sentences", "Are the vectors of texts alike where their meanings are?"
    ),
    "contrastive": Entry(
        "bertscope.training.contrastive:contrastive",
        "Train an encoder to tell which texts belong together.",
        command=False,
    ),
    "ticket": Entry(
        "bertscope.experiments.lottery.ticket:ticket",
        "Train a subnetwork from the pretrained weights.",
        command=False,
    ),
    "shrink": Entry("bertscope.experiments.shrink.question:shrink", "Cut a model down to what its task needs."),
    "states": Entry("bertscope.analyses.states:states", "Keep the hidden states of a corpus."),
    "finetune": Entry("bertscope.training.finetune:finetune", "Train an encoder on a task."),
}

# What an input's name says about its kind; what makes a root of that kind from its source, and what opens it.
INPUT_KINDS = {
    "model": "model",
    "models": "model",
    "base": "model",
    "before": "model",
    "after": "model",
    "task": "task",
    "examples": "examples",
    "data": "data",
    "tuned": "result",
    "random": "result",
    "untuned": "result",
    "frozen": "result",
    "frozen_random": "result",
    "pruned": "result",
    "tickets": "result",
    "biased": "result",
    "controls": "result",
    "swapped": "result",
    "shapes": "result",
    "hans": "examples",
    "lotteries": "result",
    "results": "result",
    "states": "hidden",
    "train": "examples",
    "train_states": "hidden",
    "sts": "task",
    "contrasted": "result",
    "pairs": "result",
    "spaces": "result",
    "against": "examples",
    "against_states": "hidden",
}
ROOTS = {
    "model": "bertscope.models.source:model_root",
    "task": "bertscope.data.read:task_root",
    "examples": "bertscope.data.corpus:examples_root",
    "data": "bertscope.data.corpus:data_root",
    "result": "bertscope.core.result:result_root",
}
OPENERS = {
    "model": "bertscope.models.load:load",
    "task": "bertscope.data.read:read_task",
    "examples": "bertscope.data.corpus:read_examples",
    "data": "bertscope.data.corpus:read_data",
    "hidden": "bertscope.models.states_store:open_store",
    "result": "bertscope.core.result:load_result",
}

FOLDERS = {
    "model": "bertscope.models.source:FOLDER",
    "hidden": "bertscope.models.states_store:FOLDER",
    "shrink": "bertscope.models.source:SHRUNK",
}
"""What a folder of each kind that a question keeps looks like; by the question's name where it is one of its own."""


@dataclass(frozen=True)
class Spec:
    """What `@question` declares about a function."""

    name: str
    inputs: tuple[str, ...]
    version: int
    main: str
    """The headline number that stands for the whole result."""
    better: Literal["higher", "lower"] | None
    cite: str
    keeps: str
    """The folder beside the result that the function fills itself and can take up again: `model`, `hidden` ..."""
    optional: tuple[str, ...]
    """Further inputs, which a step may do without."""
    config_class: type
    plan: Callable[..., Step] | None
    """From what the user names (models, data) and a config to the step that collects the result, with the steps it
    rests on (trainings, hidden states) before it."""
    check: Callable[[Any, Any], None] | None
    """Refuses data (opened) of which a config can't be asked, before the steps that the plan rests on are made."""
    reads: Callable[..., Any] | None
    """From the opened inputs and a config to the question's part in a pass over attention, which others can share."""
    card: tuple[HeadFact | HeadMaps, ...] | None
    """What the report's head card shows of it; None: every table with the columns `layer` and `head`."""
    columns: Mapping[str, Mapping[str, str]]
    """By table, what the report says of columns that are another thing there than in other tables, or not the same in
    every row; both ends of an interval as `low, high`."""

    def step(self, inputs: Mapping[str, Step | Root], config: Any = None) -> Step:
        """The step that answers this question for these inputs. `random.0`, `random.1` make a list `random`."""
        named = {name.partition(".")[0] for name in inputs}
        if not set(self.inputs) <= named <= {*self.inputs, *self.optional}:
            raise ValueError(f"{self.name} takes the inputs {self.inputs}, not {tuple(inputs)}")
        return Step(self.name, self.version, configs.to_json(config or self.config_class()), inputs)


def question(
    name: str,
    *,
    inputs: tuple[str, ...],
    version: int,
    main: str,
    better: Literal["higher", "lower"] | None = None,
    cite: str,
    keeps: str = "",
    optional: tuple[str, ...] = (),
    plan: Callable[..., Step] | None = None,
    check: Callable[[Any, Any], None] | None = None,
    reads: Callable[..., Any] | None = None,
    card: tuple[HeadFact | HeadMaps, ...] | None = None,
    columns: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function as the answer to a catalogued question; it then also records where its result came from."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        config_class = type(inspect.signature(function).parameters["config"].default)
        if name not in CATALOGUE:
            raise ValueError(f"{name!r} is not in the catalogue; {did_you_mean(name, CATALOGUE)}")

        @functools.wraps(function)
        def answer(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = tuple(map(_usable, args)), {key: _usable(one) for key, one in kwargs.items()}
            if _lacks_results(inputs, args, kwargs):
                of = repr(args[0]) if args and isinstance(args[0], str) else "FOLDER"
                raise UserError(f"{name} compares stored results; ask it with bertscope.answer({name!r}, {of}, ...)")
            for one in (*args, *kwargs.values()):
                if isinstance(one, config_class):
                    configs.refuse_bare_text(one)
            started = time.perf_counter()
            made = function(*args, **kwargs)
            result = made.result if keeps else made
            result.provenance = capture(time.perf_counter() - started) | result.provenance
            return made

        shown = (card, columns)
        said = (name, inputs, version, main, better, cite, keeps, optional, config_class, plan, check, reads, *shown)
        answer.spec = Spec(*said)  # type: ignore[attr-defined]
        return answer

    return declare


def _lacks_results(inputs: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a question about stored results was given a model, or its name, and not them."""
    results = {one for one in inputs if INPUT_KINDS.get(one) == "result"}
    if not results or not args:
        return False
    without = inputs[0] in results or not results <= {*inputs[: len(args)], *kwargs}
    return isinstance(args[0], str) or (_is(args[0], "Encoder") and without)


def _usable(given: Any) -> Any:
    """What a question is given: a path, alone or in a list, as the name that it is, a transformers model opened."""
    if isinstance(given, list | tuple):
        return [_usable(one) for one in given]
    if _is(given, "PreTrainedModel"):
        return resolve(OPENERS["model"])(given)
    return str(given) if isinstance(given, Path) else given


def _is(given: Any, kind: str) -> bool:
    """Whether it is of the class of that name, which isn't imported here."""
    return any(ancestor.__name__ == kind for ancestor in type(given).__mro__)


def resolve(target: str) -> Any:
    """The object a `module:name` target names."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def entry(name: str) -> Entry:
    if name not in CATALOGUE:
        raise UserError(f"no question {name!r}; {did_you_mean(name, CATALOGUE)}")
    return CATALOGUE[name]


def spec(name: str) -> Spec:
    """What the question of that name declares."""
    return resolve(entry(name).target).spec
