"""The one thing every question returns: tables, arrays, headline numbers, figure descriptions, provenance."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.figure import Figure
from bertscope.core.files import FolderKind, digest_files, whole_folder
from bertscope.core.formatting import as_html, as_text, figure_titles
from bertscope.core.step import FILE, Root, is_current

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

MARKER = "result.json"
FOLDER = FolderKind(MARKER, '"headline"', (MARKER, "*.parquet", "arrays.safetensors"))


@dataclass(frozen=True)
class Number:
    """A headline number with the interval that belongs to it; `low` and `high` are None where there is none."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    """How many examples (or seeds, or parts) it rests on."""
    unit: str = ""
    """What it is a value of, such as `accuracy`; empty for a count."""

    def __str__(self) -> str:
        value, *ends = self.written()
        return f"{value} [{', '.join(ends)}]" if ends else value

    def written(self) -> list[str]:
        """The value and, where there are any, the ends of its interval: three decimals, more where all are small,
        none for counts.

        >>> Number("score", 0.5, 0.4, 0.6).written(), Number("slope", -0.00123).written(), Number("n", 12).written()
        (['0.500', '0.400', '0.600'], ['-0.00123'], ['12'])
        """
        values = [self.value, *(end for end in (self.low, self.high) if end is not None)]
        largest = max(map(abs, values))
        if not self.unit and all(value % 1 == 0 for value in values):
            return [f"{value:,.0f}" for value in values]
        if 0 < largest < 0.01:
            digits = 2 - math.floor(math.log10(largest))
            return [f"{value:z.{digits}f}" if digits <= 6 else f"{value:.2e}" for value in values]
        return [f"{value:z.3f}" for value in values]


@dataclass
class Result:
    """What a question found. Saved as Parquet, safetensors and JSON; loads back equal.

    >>> result = Result("ablate", 1, tables={"effects": frame})           # doctest: +SKIP
    >>> Result.load(result.save("somewhere")).equals(result)              # doctest: +SKIP
    True
    """

    question: str
    version: int
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    headline: list[Number] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    subject: dict[str, str] = field(default_factory=dict)
    """What it is about: `model`, `task`, `checkpoint`."""
    notes: list[str] = field(default_factory=list)
    """What a reader must know beside the numbers: texts that were truncated, columns that were guessed."""
    provenance: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for figure in self.figures:
            if figure.table not in self.tables:
                known = did_you_mean(figure.table, self.tables)
                raise ValueError(f"figure {figure.title!r} draws the table {figure.table!r}: {known}")
            if missing := set(figure.columns()) - set(self.tables[figure.table].columns):
                raise ValueError(f"figure {figure.title!r} needs the columns {sorted(missing)} of {figure.table!r}")

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    @property
    def about(self) -> str:
        """The subject in words."""
        return in_words(self.subject)

    @property
    def table(self) -> pd.DataFrame:
        """The first table: the one most callers want."""
        return next(iter(self.tables.values()))

    def number(self, name: str) -> Number:
        """The headline number of that name."""
        by_name = {number.name: number for number in self.headline}
        if name not in by_name:
            raise KeyError(f"no headline number {name!r}; {did_you_mean(name, by_name)}")
        return by_name[name]

    def plot(self, which: int = 0) -> Any:
        """The figure of that number, counted from 0, as an Altair chart: a notebook draws it."""
        from bertscope.core import registry

        if which not in range(len(self.figures)):
            raise UserError(f"no figure {which!r}; {self.question} has {', '.join(figure_titles(self)) or 'none'}")
        # Late and by name: values know no drawing code, and computing never loads it.
        return registry.resolve(registry.SERVICES["chart"])(
            self.figures[which], self.tables[self.figures[which].table]
        )

    def equals(self, other: Result) -> bool:
        """Whether both say the same; provenance (when, where, how long) may differ."""
        return (
            self._description() == other._description()
            and all(self.tables[name].equals(other.tables[name]) for name in self.tables)
            and all(_same_array(self.arrays[name], other.arrays[name]) for name in self.arrays)
        )

    def save(self, folder: str | Path) -> Path:
        """Write the whole result to `folder`, in one step; an older result there is replaced."""
        import numpy as np
        from safetensors.numpy import save_file

        folder = Path(folder)
        with whole_folder(folder, FOLDER) as scratch:
            for name, frame in self.tables.items():
                frame.to_parquet(scratch / f"{name}.parquet", index=False)
            if self.arrays:
                # safetensors writes the bytes as they lie in memory: only C order reads back as it was.
                rows_first = {name: np.ascontiguousarray(array) for name, array in self.arrays.items()}
                save_file(rows_first, scratch / "arrays.safetensors")
            description = self._description() | {"provenance": self.provenance}
            (scratch / MARKER).write_text(json.dumps(description, indent=1, ensure_ascii=False), encoding="utf-8")
        return folder

    @classmethod
    def load(cls, folder: str | Path) -> Result:
        """Read what `save` wrote, there or in the folder of a stored step."""
        import pandas as pd

        folder = _inside(folder)
        record = describe(folder)
        arrays = {}
        if record["arrays"]:
            from safetensors.numpy import load_file

            arrays = load_file(folder / "arrays.safetensors")
        return cls(
            question=record["question"],
            version=record["version"],
            tables={name: pd.read_parquet(folder / f"{name}.parquet") for name in record["tables"]},
            arrays={name: arrays[name] for name in record["arrays"]},
            headline=[Number(**number) for number in record["headline"]],
            figures=[Figure(**figure) for figure in record["figures"]],
            subject=record["subject"],
            notes=record["notes"],
            provenance=record["provenance"],
        )

    def _description(self) -> dict[str, Any]:
        return {
            "question": self.question,
            "version": self.version,
            "subject": self.subject,
            "headline": [asdict(number) for number in self.headline],
            "notes": self.notes,
            "tables": list(self.tables),
            "arrays": list(self.arrays),
            "figures": [asdict(figure) for figure in self.figures],
        }


def load_result(folder: str | Path | Result) -> Result:
    """The result in a folder that `save` wrote, or in that of a stored step, which its provenance then tells; or the
    one that is given itself."""
    if isinstance(folder, Result):
        return folder
    if not isinstance(folder, str | Path):
        raise UserError(f"can't read {type(folder).__name__} as a result; give a Result, or the folder of one")
    inside = _readable(folder)
    result, made_by = Result.load(inside), inside.parent / FILE
    if made_by.exists():
        result.provenance["step"] = json.loads(made_by.read_text(encoding="utf-8"))
    return result


def result_root(folder: str | Path) -> Root:
    """A stored result as the input of a question, by content."""
    if not isinstance(folder, str | Path):
        raise UserError("a stored answer reads stored results; save the result, and give its folder")
    inside = _readable(folder)
    describe(inside)  # refuses what is none
    return Root("result", str(inside), digest_files(sorted(file for file in inside.iterdir() if file.is_file())))


def _inside(folder: str | Path) -> Path:
    folder = Path(folder).absolute()
    return folder / "result" if (folder / "result" / MARKER).exists() else folder


def _readable(folder: str | Path) -> Path:
    """The same, refused where it belongs to a stored step that another version of bertscope wrote."""
    inside = _inside(folder)
    if (made_by := inside.parent / FILE).exists() and not is_current(made_by):
        raise UserError(f"{inside.parent} was stored by another version of bertscope; ask its question again")
    return inside


def in_words(subject: Mapping[str, str]) -> str:
    """What a result is about, as headings and lists print it.

    >>> in_words({"model": "pocket", "task": "demo/sentiment", "seed": "0"})
    'pocket on demo/sentiment, seed 0'
    >>> in_words({"model": "pocket tuned on demo/sentiment", "task": "demo/sentiment"})
    'pocket tuned on demo/sentiment'
    """
    model, task = subject.get("model", ""), subject.get("task", "")
    whole = model if model.endswith(f" on {task}") else " on ".join(filter(None, [model, task]))
    others = [f"{key} {value}" for key, value in subject.items() if key not in ("model", "task")]
    return ", ".join(filter(None, [whole, *others]))


def describe(folder: Path) -> dict[str, Any]:
    """The JSON part of a stored result, without its tables: enough to list it, and cheap."""
    marker = Path(folder) / MARKER
    try:
        return json.loads(marker.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{folder} holds no result (no {MARKER} in it)") from None
    except ValueError as error:
        raise UserError(f"{marker} is damaged ({error}); delete the folder and run the step again") from error


def _same_array(one: np.ndarray, other: np.ndarray) -> bool:
    import numpy as np

    same_kind = one.dtype == other.dtype and one.shape == other.shape
    return same_kind and bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))
