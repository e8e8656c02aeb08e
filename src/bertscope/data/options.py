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
    """The column with the text; by default guessed from the column names."""
    text_pair: str | None = None
    """The column with the second text of a pair."""
    label: str | None = None
    """The column with the label or score. Where a text can have several labels and each has its own column: all
    these columns, separated by commas."""
    choices: str | None = None
    """For multiple choice: the column with a list of candidate texts, or the columns with one candidate each,
    separated by commas."""
    several: str | None = None
    """For texts that can have several labels: the separator between them, such as '|'; a column of lists needs none.
   """
    id: str | None = None
    """The column with a unique name for each row; by default the row's file and line."""
    kind: Kind | None = None
    """The kind of task. Labels, SQuAD's spans, a treebank's trees and CoNLL's tags are recognised. trees: also for
    demo/corpus and .jsonl with heads; spans: .jsonl with answers; tokens: a treebank's parts of speech, or tags that
    aren't entities; masked: guess masked words of any texts (the default for texts without labels); vectors: scored
    pairs, for models that embed texts."""
    slice: tuple[str, ...] = ()
    """Further columns to read: `errors` and `versus` test whether rows that share a value there differ from the
    other rows."""
    limit: int | None = None
    """Use at most this many rows of each split."""
    root: Path | None = None
    """The folder that holds a task known by name (glue/rte, snli ...); by default it comes from the hub."""
    skip_bad: bool = False
    """Leave out rows that can't be used, and count them, instead of stopping at the first."""
    metric: MetricName | None = None
    """The main metric; by default the task's own."""
    windows: int = 0
    """For labels and scores: read a text that is longer than the model allows in up to this many windows and average
    the outputs; 0 truncates it."""
    label_threshold: float | None = None
    """For several labels a text: give a label if its probability is above this, such as 0.5; by default chosen on
    the validation set."""


@dataclass(frozen=True)
class DataOptions(ReadOptions):
    """How the data is read, as commands and calls say it: `seed` is mostly another one's there."""

    data_seed: int = 0
    """Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes."""

    def given(self) -> dict[str, Any]:
        """The options as `task_root` takes them."""
        options = asdict(self)
        return options | {"seed": options.pop("data_seed")}


@dataclass(frozen=True)
class TaskOptions(ReadOptions):
    """How a task is read."""

    seed: int = 0
    """Seed of how a single file is split, which rows a limit keeps, and which sentences a demo language makes."""
    without: tuple[str, ...] = ()
    """Leave the rows that mention one of these words out of train and validation."""
    at_random: int | None = None
    """With `without`: instead leave out as many random rows of each label; this is the seed that draws them."""
    flip: float = 0.0
    """Give this share of the training rows another label, drawn at random: to see who finds them again."""
    flip_seed: int = 0
    """With `flip`: seed of which rows these are, and which labels they get."""
    fold: tuple[int, ...] = ()
    """Which fold of how many, such as (1, 5): that part of the training rows is held out, and becomes the test set.
   """

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
