"""How data is read: the one declaration that `read_task`, identities and the command line share."""

# No `annotations` from `__future__`: the command line inherits these fields, and couldn't look up their types' names.
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Self, TypeVar, get_args

from bertscope.core import config
from bertscope.core.errors import UserError, did_you_mean
from bertscope.data.metrics import MetricName
from bertscope.data.task import Kind

Reader = TypeVar("Reader", bound=Callable[..., Any])


@dataclass(frozen=True)
class ReadOptions:
    """How the data is read, but for the seed, which the command line calls `--data-seed`."""

    text: str | None = None
    """The column with the text; guessed from its name otherwise."""
    text_pair: str | None = None
    """The column with the second text of a pair."""
    label: str | None = None
    """The column with the label or score; of several labels a text that have a column each: all of them, with commas
    between them."""
    choices: str | None = None
    """Of multiple choice: the column with a list of candidate texts, or those with one each, with commas between."""
    several: str | None = None
    """What stands between the labels of a text that can have several, such as '|'; lists say it by themselves."""
    id: str | None = None
    """The column with what rows are called, each by another name; their file and line otherwise."""
    kind: Kind | None = None
    """What is learnt: labels are told by themselves, SQuAD's spans, a treebank's trees and CoNLL's tags too; trees
    makes a task of demo/corpus, and of .jsonl with heads, spans one of .jsonl with answers; tokens reads a treebank's
    parts of speech, and tags that are no entities'; masked makes one of guessing masked words of any texts, as which
    texts alone are read, and vectors one of scored pairs for models that embed texts."""
    slice: tuple[str, ...] = ()
    """Further columns to read: `errors` and `versus` ask whether rows that have something in common there are
    another matter than the others."""
    limit: int | None = None
    """Use at most this many rows of each split."""
    root: Path | None = None
    """The folder in which a task known by name (glue/rte, snli ...) lies; from the hub otherwise."""
    skip_bad: bool = False
    """Leave out rows that can't be used, and count them, instead of stopping at the first."""
    metric: MetricName | None = None
    """The metric that decides; the task's own otherwise."""
    windows: int = 0
    """Of labels and scores: read texts that are longer than the model allows in so many windows at most, and average
    what the model says of them; 0 truncates them."""
    label_threshold: float | None = None
    """Of several labels a text: above which probability one is given, such as 0.5; validation decides otherwise."""


@dataclass(frozen=True)
class DataOptions(ReadOptions):
    """How the data is read, as commands and calls say it: `seed` is mostly another one's there."""

    data_seed: int = 0
    """Decides how one file is split, which rows a limit keeps, and what a demo language says."""

    def given(self) -> dict[str, Any]:
        """The options as `task_root` takes them."""
        options = asdict(self)
        return options | {"seed": options.pop("data_seed")}


@dataclass(frozen=True)
class TaskOptions(ReadOptions):
    """How a task is read."""

    seed: int = 0
    """Decides how one file is split, which rows a limit keeps, and what a demo language says."""
    without: tuple[str, ...] = ()
    """Leave the rows that mention one of these words out of train and validation."""
    at_random: int | None = None
    """With `without`: leave out as many rows of each label as that would, but drawn with this seed."""
    flip: float = 0.0
    """Label this share of the training rows as something else, drawn at random: to see who finds them again."""
    flip_seed: int = 0
    """With `flip`: decides which rows these are, and what they are labelled."""
    fold: tuple[int, ...] = ()
    """Which of how many folds, such as (1, 5): that part of the training rows is held out, and is the test set."""

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise UserError(f"limit is {self.limit}; give 1 or more rows per split, or leave it out to have all")
        if self.seed < 0:
            raise UserError(f"seed is {self.seed}; give 0 or more")
        if self.at_random is not None and (self.at_random < 0 or not self.without):
            raise UserError(f"at_random is {self.at_random}; give a seed of 0 or more, and the words of `without`")
        if not 0 <= self.flip < 1:
            raise UserError(f"flip is {self.flip:g}; give a share of the training rows from 0 to below 1")
        if self.fold and (len(self.fold) != 2 or not 1 <= self.fold[0] <= self.fold[1] or self.fold[1] < 2):
            raise UserError(f"fold is {self.fold}; give which of how many, such as (1, 5)")
        if self.several is not None and (not self.several or self.several.isalnum()):
            raise UserError(f"several is {self.several!r}; give the sign that stands between labels, such as '|'")
        if self.windows < 0:
            raise UserError(f"windows is {self.windows}; give how many of a long text are read, or 0 to truncate it")
        if self.label_threshold is not None and not 0 < self.label_threshold < 1:
            given = f"{self.label_threshold:g}"
            raise UserError(f"label_threshold is {given}; give a probability between 0 and 1, such as 0.5")
        for name, known in (("kind", get_args(Kind)), ("metric", get_args(MetricName))):
            value = getattr(self, name)
            if value is not None and value not in known:
                raise UserError(f"{name} is {value!r}; {did_you_mean(str(value), known)}")

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """The options of those names; one that doesn't exist is the user's mistake."""
        return config.from_json(cls, options)

    def given(self) -> dict[str, Any]:
        """Those that differ from their defaults, as JSON: what is left unsaid is no part of an identity."""
        defaults = asdict(type(self)())
        changed = {name: value for name, value in asdict(self).items() if value != defaults[name]}
        return changed | ({"root": str(self.root)} if self.root is not None else {})

    @property
    def changes_training(self) -> bool:
        """Whether the training rows are others than the source has, beside a limit."""
        return bool(self.without or self.flip or self.fold)

    def refuse(self, source: str, *names: str) -> None:
        """Refuse options that would say again, or otherwise, what the source says itself."""
        for name in self.given():
            if name in names:
                raise UserError(f"{source} has its own columns; leave out --{name.replace('_', '-')}")


COLUMNS = ("text", "text_pair", "label", "id", "kind")
"""The options that say what is where in a file."""


def showing(options: type) -> Callable[[Reader], Reader]:
    """Show these options in the signature of a function that takes them as `**options`."""

    def show(function: Reader) -> Reader:
        own = signature(function)
        listed = [
            Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
            for field in fields(options)
        ]
        kept = [each for each in own.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
        function.__signature__ = own.replace(parameters=[*kept, *listed])  # type: ignore[attr-defined]
        return function

    return show


with_options = showing(TaskOptions)
