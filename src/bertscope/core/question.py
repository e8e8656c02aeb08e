"""What is declared of a question: enough for help, planning and the page, and nothing heavy.

A question is a folder of its name. `question.py` declares it, `measure.py` computes it, `result.py` tells it:

    ablate = Question(__name__, "...", config=AblateConfig, inputs={"model": MODEL, "task": TASK}, version=3, ...)

Its name is the folder's, its line the catalogue's, its function `measure` in `measure.py`: no fact is written twice.
Called, it answers: `ablate(model, task, units=["head"])`; `calling.py` says what can be given.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bertscope.core import calling, measuring, null_panel, registry, scoring
from bertscope.core import config as configs
from bertscope.core.series import OverSteps
from bertscope.core.step import Root, Step

if TYPE_CHECKING:
    from bertscope.core.consequence import Consequence
    from bertscope.core.head_card import HeadFact, HeadMaps
    from bertscope.core.ranking import RanksBy
    from bertscope.core.result import Result
    from bertscope.core.row_card import RowFact
    from bertscope.core.statement import Statement

DATA = ("task", "examples", "data", "pairs", "corpus")
"""Kinds of what is read: a task, texts, either, minimal pairs, or texts a window at a time."""


@dataclass(frozen=True)
class Input:
    """Something that a question is asked of."""

    kind: str
    """One of those that the catalogue knows: model, scorer, task, examples, data, pairs, states, result ..."""
    many: bool = False
    """Whether there may be several: a step has them as `models.0`, `models.1` ..."""
    flag: str = ""
    """Of one that can be left out: what help says of the flag by which a user gives it."""
    checked: bool = False
    """Of one that can be left out: whether the question's `check` looks at it, as at what it must have."""
    in_turn: bool = False
    """Whether the question opens it itself, when its turn comes (`core/in_turn.py`)."""


MODEL, TASK, EXAMPLES, EITHER = Input("model"), Input("task"), Input("examples"), Input("data")
PAIRS = Input("pairs")
"""Minimal pairs of texts: a clean and a corrupted one each."""
SCORER = Input("scorer")
"""A model, or an ONNX file: whatever answers."""
SUMS = Input("sums", many=True)
"""What was kept of the shards of a corpus."""
MODELS, RESULTS, STATES = Input("model", many=True), Input("result", many=True), Input("states", many=True)


@dataclass(frozen=True)
class Question:
    """A question, as its folder declares it."""

    module: str
    """The declaring module's `__name__`."""
    about: str
    """How it is answered, for help and docs: what follows the line."""
    config: type
    """A frozen dataclass; its fields are the flags, their docstrings the help."""
    inputs: Mapping[str, Input]
    """What its step reads, in the order in which `measure` takes it."""
    version: int
    """Part of the identity of stored answers: raise it when the answer changes."""
    main: str
    """The key of the headline number that stands for the whole result."""
    cite: str
    newer: Mapping[str, Mapping[Any, int]] = field(default_factory=dict)
    """By setting and value, the version of steps that have it, where only their answer changed: what was stored of
    the others stays."""
    better: Literal["higher", "lower"] | None = None
    optional: Mapping[str, Input] = field(default_factory=dict)
    """Further inputs, which a step may do without. Those with a flag can be given by users."""
    given: Mapping[str, Input] = field(default_factory=dict)
    """What a user names where that isn't what the step reads: a plan makes the one from the other."""
    plan: Callable[..., Step] | None = None
    """From what the user names (models, data) and a config to the step that collects the result, with the steps it
    rests on (trainings, hidden states) before it."""
    keeps: str = ""
    """The folder beside the result that `measure` fills itself and can take up again: `model`, `states` ..."""
    folder: str = ""
    """What the folder that it keeps is by its seal, where that is more than its kind says."""
    check: Callable[[Any, Any], None] | None = None
    """Refuses data (opened) of which a config can't be asked, before the steps that the plan rests on are made."""
    scoring: scoring.Scoring | None = None
    """Of a question that scores a task: of which outputs it means nothing. One that scores takes any other."""
    takes_text: bool = False
    """Whether a text itself can be given in the place of data: `--text` without `--on`."""
    shares_pass: bool = False
    """A question about attention: `measure.py` has `part`, its part in a pass that others can share."""
    sharding: Literal["", "sums", "states"] = ""
    """How it can be asked in shards; not at all, if this is empty. A step then has the shards' `sums` in the place of
    the texts. sums: its reader has `sums` and `merge` (`core/sums.py`); states: it looks at hidden states, of which
    each shard keeps its own."""
    surveys: bool = False
    """Whether a shard has to know something of the whole corpus first: `measure.py` has `survey`, which goes through
    all texts without a model and keeps that."""
    over_steps: OverSteps | None = None
    """How it is asked of a series of checkpoints (`core/series.py`); None: it can't be."""
    card: tuple[HeadFact | HeadMaps, ...] | None = None
    """What the page's head card shows of it; None: every table with the columns `layer` and `head`."""
    row_card: tuple[RowFact, ...] = ()
    """What the page's row card shows of it."""
    ranks: Mapping[str, RanksBy] = field(default_factory=dict)
    """By what its results rank heads and MLPs: other questions take them as an order (`core/ranking.py`)."""
    printed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Tables of which a terminal shows the first lines beside the numbers, with these columns; of one that says what
    is `certain`, the lines that are."""
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By table, what the page says of columns that are another thing there than in other tables, or not the same in
    every row; both ends of an interval as `low, high`."""
    numbers: Mapping[str, str] = field(default_factory=dict)
    """Its headline numbers: each key's words. `{arm}` in them is what the number is of; what isn't named so is added
    where several numbers share a key."""
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Words for the keys that tables hold and numbers are of: by column (`arm`), each key's (`random_tuned`)."""
    moves_with_n: tuple[str, ...] = ()
    """The keys of headline numbers that are higher or lower for a smaller sample, so that two sizes don't compare."""
    null: str = ""
    """Of a question with p-values: the exact null, in which its hypothesis is true by construction, after "where".
    Its config then has `null`, with which the result has the null panel and the reference (`null_panel.py`)."""
    reference: str = ""
    """What stands beside its numbers then, as a column or a number: the same of random weights, say."""
    compared: str = ""
    """What the number is by which its results are compared, in words that need no sentence before them. Where there
    are any, `result.py` has `sentence`, which tells a result in one."""

    __signature__ = calling.CallSignature()

    def __repr__(self) -> str:
        return f"<question {self.name}>"

    @property
    def name(self) -> str:
        """Its folder's, with hyphens for underscores."""
        return self.module.removesuffix(".question").rpartition(".")[2].replace("_", "-")

    @property
    def line(self) -> str:
        """The question in words."""
        return registry.QUESTIONS[self.name].line

    @property
    def description(self) -> str:
        """The question, and how it is answered."""
        told = f"{self.line}\n\n{inspect.cleandoc(self.about)}"
        if not self.null:
            return told
        return f"{told}\n\nWith --null: how often something is found where {self.null}; to compare, {self.reference}."

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return f"{self.description}\n\n{self.name}{inspect.signature(self)}"

    @property
    def asked_of(self) -> Mapping[str, Input]:
        """What a user names: models or results, and data."""
        return self.given or self.inputs

    @property
    def named(self) -> list[str]:
        """Of these, what is named one after the other: models, or results."""
        return [name for name, one in self.asked_of.items() if one.kind not in DATA]

    @property
    def reads(self) -> str | None:
        """Of these, the data; None if it reads results alone."""
        return next((name for name, one in self.asked_of.items() if one.kind in DATA), None)

    @property
    def needs_store(self) -> bool:
        """Whether it reads what only other steps make, such as the trainings of an experiment."""
        return self.plan is not None and any(one.kind == "result" for one in self.inputs.values())

    @property
    def flags(self) -> dict[str, Input]:
        """What a user may give beside them."""
        return {name: one for name, one in self.optional.items() if one.flag}

    @property
    def takes_several(self) -> bool:
        """Whether any number can be named one after the other."""
        return self.asked_of[self.named[0]].many

    def takes(self, name: str) -> bool:
        """Whether a step of it can have this input."""
        return name.partition(".")[0] in {*self.inputs, *self.optional, *self.of_shards}

    @property
    def of_shards(self) -> Mapping[str, Input]:
        """What a step reads that puts shards together. Who looks at hidden states asks the texts which words they
        are."""
        if self.sharding == "states":
            return {"sums": SUMS, "corpus": Input("corpus"), "division": Input("division")}
        survey = {"survey": Input("survey")} if self.surveys else {}
        return {"sums": SUMS, **survey} if self.sharding else {}

    def input(self, name: str) -> Input:
        """What one of its step's inputs is; `random.0` is one of `random`."""
        name = name.partition(".")[0]
        further = {**self.of_shards, **self.optional}
        return self.inputs[name] if name in self.inputs else further[name]

    def reads_data(self, name: str) -> bool:
        """Whether one of its step's inputs is data."""
        return self.input(name).kind in DATA

    def checks(self, name: str) -> bool:
        """Whether `check` looks at one of its step's inputs."""
        return name in self.inputs or self.input(name).checked

    def refuse_output(self, data: Any, model: Any = None) -> None:
        """Refuse a task of whose output, as this model answers it, the question means nothing."""
        scoring.refuse_output(self.name, self.scoring, data, model)

    def step(self, inputs: Mapping[str, Step | Root], config: Any = None) -> Step:
        """The step that answers this question for these inputs. `random.0`, `random.1` make a list `random`."""
        named = {name.partition(".")[0] for name in inputs}
        instead = () if "sums" not in named else self.inputs if self.sharding == "states" else (self.reads,)
        needed = {name for name in self.inputs if name not in instead}
        if not needed <= named or not all(map(self.takes, named)):
            raise ValueError(f"{self.name} takes the inputs {tuple(self.inputs)}, not {tuple(inputs)}")
        settings = configs.to_json(config or self.config())
        newer = [known[settings[name]] for name, known in self.newer.items() if settings[name] in known]
        return Step(self.name, max([self.version, *newer]), settings, inputs)

    def result(self, **what: Any) -> Result:
        """A result of this question; headline numbers get their words, a null panel its line, first of the notes."""
        from bertscope.core.result import Result
        from bertscope.core.words import labelled, model_names

        result = Result(self.name, self.version, **what)
        if wordless := [number.key for number in result.headline if number.key not in self.numbers]:
            raise ValueError(f"{self.name} declares no words for the number {wordless[0]!r}")
        words = {**self.words, "model": model_names(result.models)}
        result.headline = labelled(result.headline, self.numbers, words)
        result.notes = [*filter(None, [null_panel.in_words(result)]), *result.notes]
        return result

    def sentence(self, result: Result) -> Statement | None:
        """A stored result in a sentence; None where there is nothing to say, or nobody wrote one."""
        return self._beside("result:sentence")(result) if self.compared else None

    def consequences(self, result: Result) -> list[Consequence]:
        """What follows from a stored result, as the folder's `consequence.py` has it."""
        return self._beside("consequence:consequences")(result)

    def _beside(self, what: str) -> Callable[..., Any]:
        return registry.resolve(f"{self.module.rpartition('.')[0]}.{what}")

    @cached_property
    def _measuring(self) -> str:
        """The module that computes: beside `question.py`, or the declaring one where a question is one file."""
        folder, _, last = self.module.rpartition(".")
        return f"{folder}.measure" if last == "question" else self.module

    def function(self, name: str) -> Callable[..., Any]:
        """What computes it, or a part of that."""
        return registry.resolve(f"{self._measuring}:{name}")

    def part(self, **opened: Any) -> Any:
        """Its part in a pass over attention, from its opened inputs and `config`."""
        made = self.function("part")(**opened)
        return replace(made, finish=lambda passed: measuring.with_notes(made.finish(passed), opened))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Answer it for models, results and data, by name or as they are, in memory or with `store=` stored."""
        return calling.call(self, args, kwargs)

    def kept(self, folder: Path, result: Result) -> Any:
        """What a call gives, of a question that keeps a folder: from that folder and the result beside it."""
        return self.function("kept")(folder, result)

    def compute(self, *args: Any, **kwargs: Any) -> Any:
        """The answer from what its step reads: by name, or opened already, as the runner has it."""
        names = (*self.inputs, "config")
        first = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
        further = (*self.optional, *self.of_shards, *(("out", "resume") if self.keeps else ()))
        keywords = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in further]
        return self.measured(inspect.Signature([*first, *keywords]).bind_partial(*args, **kwargs).arguments, None)

    def measured(self, given: Mapping[str, Any], how: Mapping[str, Mapping[str, Any]] | None) -> Any:
        """The same from inputs and settings by name: see `measuring.py`."""
        return measuring.measured(self, given, how)
