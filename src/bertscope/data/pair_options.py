"""How minimal pairs are read: what commands, calls, studies and identities share."""

# No `annotations` from `__future__`: the command line inherits these fields, and couldn't look up their types' names.
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self, get_args

from bertscope.core import config
from bertscope.core.errors import UserError, did_you_mean
from bertscope.data.source_kinds import Part


@dataclass(frozen=True)
class ReadPairOptions:
    """How pairs are read, but for the seed, which the command line calls `--data-seed`."""

    clean: str | None = None
    """The column with the clean, or good, text of each pair; by default guessed from the column names."""
    corrupted: str | None = None
    """The column with the corrupted, or bad, text."""
    clean_pair: str | None = None
    """The column with the second text beside the clean one, for models that read two; also used beside the corrupted
    one, unless --corrupted-pair names another."""
    corrupted_pair: str | None = None
    """The column with the second text beside the corrupted one."""
    phenomenon: str | None = None
    """The column that says what each pair is about; by default guessed, for BLiMP `linguistics_term`."""
    only: tuple[str, ...] = ()
    """Read only the pairs of these phenomena."""
    swap: tuple[str, ...] = ()
    """Make pairs from ordinary texts by exchanging words: give a file with a pair such as she/he on each line, the
    pairs themselves, or gender."""
    text: str | None = None
    """With --swap: the column with the text; by default guessed."""
    text_pair: str | None = None
    """With --swap: the column with the second text."""
    split: Part = "test"
    """Which split is read, of a demo language or, with --swap, of a task."""
    limit: int | None = None
    """Use at most this many pairs, with the phenomena in about the same shares."""
    root: Path | None = None
    """With --swap: the folder that holds a task known by name; by default it comes from the hub."""
    skip_bad: bool = False
    """Leave out pairs that can't be used, and count them, instead of stopping at the first."""


@dataclass(frozen=True)
class PairDataOptions(ReadPairOptions):
    """How pairs are read, as commands and calls say it: `seed` is mostly another one's there."""

    data_seed: int = 0
    """Seed of which pairs a limit keeps, and which sentences a demo language makes."""

    def given(self) -> dict[str, Any]:
        """The options as `pairs_root` takes them."""
        options = asdict(self)
        return options | {"seed": options.pop("data_seed")}


@dataclass(frozen=True)
class PairOptions(ReadPairOptions):
    """How pairs are read."""

    seed: int = 0
    """Seed of which pairs a limit keeps, and which sentences a demo language makes."""

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise UserError(f"limit is {self.limit}; give 1 or more pairs, or leave it out to have all")
        if self.seed < 0:
            raise UserError(f"seed is {self.seed}; give 0 or more")
        if self.split not in get_args(Part):
            raise UserError(f"no split {self.split!r}; {did_you_mean(str(self.split), get_args(Part))}")
        if (self.clean is None) != (self.corrupted is None):
            named, other = ("clean", "corrupted") if self.corrupted is None else ("corrupted", "clean")
            raise UserError(f"--{named} names a column, and --{other} none; name both, or neither")
        if self.corrupted_pair is not None and self.clean_pair is None:
            raise UserError("--corrupted-pair names a column, and --clean-pair none; name both, or the latter alone")

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """The options of those names; one that doesn't exist is the user's mistake."""
        return config.from_json(cls, options)

    def given(self) -> dict[str, Any]:
        """Those that differ from their defaults, as JSON: what is left unsaid is no part of an identity."""
        defaults = asdict(type(self)())
        changed = {name: value for name, value in asdict(self).items() if value != defaults[name]}
        lists = {name: list(value) for name, value in changed.items() if isinstance(value, tuple)}
        return changed | lists | ({"root": str(self.root)} if self.root is not None else {})

    def refuse(self, source: str, *names: str, why: str = "has its own columns") -> None:
        """Refuse options that would say again, or otherwise, what the source says itself."""
        for name in self.given():
            if name in names:
                raise UserError(f"{source} {why}; leave out --{name.replace('_', '-')}")


COLUMNS = ("clean", "corrupted", "clean_pair", "corrupted_pair", "phenomenon")
"""The options that say what is where in a file."""
