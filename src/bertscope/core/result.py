"""The one thing every question returns: tables, arrays, headline numbers, figure descriptions, provenance."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.figure import Figure
from bertscope.core.files import digest_files
from bertscope.core.folders import whole_folder
from bertscope.core.formatting import as_html, as_text, figure_names
from bertscope.core.model_record import ModelRecord
from bertscope.core.number import Number, Numbers, draws_of, with_draws
from bertscope.core.result_json import as_json
from bertscope.core.seal import FILE as SEAL
from bertscope.core.seal import refuse_damaged
from bertscope.core.step import FILE, Root, is_current
from bertscope.core.words import about, in_words

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

MARKER = "result.json"
_ARRAYS, _DRAWS = "arrays.safetensors", "draws.safetensors"
KIND = "result"
"""What its folder is, by its seal."""


@dataclass
class Result:
    """What a question found. Saved as Parquet, safetensors and JSON; `Result.load(result.save(folder))` equals it."""

    question: str
    version: int
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    headline: list[Number] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    models: dict[str, ModelRecord] = field(default_factory=dict)
    """The models that it is about, by their ids, in the order in which they were given. Tables and numbers call a
    model by its id; `in_words` puts names there."""
    subject: dict[str, str] = field(default_factory=dict)
    """What else it is about: `task`, and the settings that make it another answer."""
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
        keys = [figure.key for figure in self.figures if figure.key]
        if len(set(keys)) < len(keys):
            raise ValueError(f"two figures of {self.question} share a key: {sorted(keys)}")

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    @property
    def about(self) -> str:
        """What it is about, in words."""
        return about(self.models, self.subject)

    @property
    def table(self) -> pd.DataFrame:
        """The first table: the one most callers want."""
        return next(iter(self.tables.values()))

    def __getitem__(self, key: str) -> Number:
        """The headline number of that key: `result["last_two_share"]`."""
        found = self.numbers(key=key)
        if not found:
            raise KeyError(f"this {self.question} has no headline number {key!r}")
        if len(found) > 1:
            apart = dict.fromkeys(name for number in found for name in number.of)
            raise KeyError(
                f"{self.question} has {len(found)} numbers {key!r}; "
                f"say which: numbers(key={key!r}, {', '.join(f'{name}=...' for name in apart)})"
            )
        return found[0]

    def keys(self) -> list[str]:
        """The headline numbers' keys, each once."""
        return list(dict.fromkeys(number.key for number in self.headline))

    def __iter__(self) -> Iterator[str]:  # so that `in` asks for a key
        return iter(self.keys())

    def numbers(self, key: str | None = None, **of: Any) -> Numbers:
        """The headline numbers of that key, and about these: `result.numbers(key="score", arm="good")`; with nothing
        given, all of them. `numbers().table` is a table. A model is given by its id, or as an encoder. What no number
        could be is refused; that there is none of what could be is an empty answer."""
        self._refuse_unknown(key, of)
        of = {name: getattr(getattr(value, "record", value), "id", value) for name, value in of.items()}
        # Where there is only one model, every number is of it, and most don't say it.
        alone = {"model": next(iter(self.models))} if len(self.models) == 1 else {}
        return Numbers(
            number for number in self.headline
            if (key is None or number.key == key) and replace(number, of={**alone, **number.of}).is_about(of)
        )  # fmt: skip

    def _refuse_unknown(self, key: str | None, of: Mapping[str, Any]) -> None:
        from bertscope.core import registry

        question = registry.still_declared(self.question)
        declared = question.numbers if question else {}
        keys = {*self.keys(), *declared}
        if key is not None and key not in keys:
            raise KeyError(f"{self.question} has no headline number {key!r}; {did_you_mean(str(key), keys)}")
        about = {"model", *(name for number in self.headline for name in number.of)}
        about |= {field for words in declared.values() for _, field, *_ in Formatter().parse(words) if field}
        if unknown := [name for name in of if name not in about]:
            raise KeyError(f"no number of {self.question} is of a {unknown[0]}; {did_you_mean(unknown[0], about)}")

    def in_words(self, names: Mapping[str, str] | None = None) -> Result:
        """The same with words where code has keys: for eyes. `names` are the models' by their ids, where others than
        their own tell them apart."""
        return in_words(self, names)

    def plot(self, which: str | int = 0) -> Any:
        """The figure of that key, or number (counted from 0), as an Altair chart: a notebook draws it."""
        from bertscope.core import registry

        keys = {figure.key: place for place, figure in enumerate(self.figures)}
        place = keys.get(which) if isinstance(which, str) else which
        if place is None or place not in range(len(self.figures)):
            raise UserError(f"no figure {which!r}; {self.question} has {', '.join(figure_names(self)) or 'none'}")
        shown = self.in_words()
        figure = shown.figures[place]
        # Late and by name: values know no drawing code, and computing never loads it.
        return registry.resolve(registry.SERVICES["chart"])(figure, shown.tables[figure.table])

    def to_json(self, id: str = "") -> dict[str, Any]:
        """What `--json` prints of it, and of the step of that id: everything but its tables and arrays."""
        return as_json(self._description() | {"provenance": self.provenance}, id)

    def equals(self, other: Result) -> bool:
        """Whether both say the same; provenance (when, where, how long) may differ, and where their models lay."""
        anywhere = [
            replace(each, models={key: one.wherever() for key, one in each.models.items()})._description()
            for each in (self, other)
        ]
        # As they are written: NaN isn't equal to itself otherwise.
        anywhere = [json.loads(json.dumps(each), parse_constant=str) for each in anywhere]
        return (
            anywhere[0] == anywhere[1]
            and all(self.tables[name].equals(other.tables[name]) for name in self.tables)
            and all(_same_array(self.arrays[name], other.arrays[name]) for name in self.arrays)
        )

    def save(self, folder: str | Path) -> Path:
        """Write the whole result to `folder`, in one step; an older result there is replaced."""
        import numpy as np
        from safetensors.numpy import save_file

        folder = Path(folder)
        with whole_folder(folder, KIND) as scratch:
            for name, frame in self.tables.items():
                frame.to_parquet(scratch / f"{name}.parquet", index=False)
            for file, arrays in ((_ARRAYS, self.arrays), (_DRAWS, draws_of(self.headline))):
                if arrays:
                    # safetensors writes the bytes as they lie in memory: only C order reads back as it was.
                    save_file({name: np.asarray(one, order="C") for name, one in arrays.items()}, scratch / file)
            description = self._description() | {"provenance": self.provenance}
            (scratch / MARKER).write_text(json.dumps(description, indent=1, ensure_ascii=False), encoding="utf-8")
        return folder

    @classmethod
    def load(cls, folder: str | Path) -> Result:
        """Read what `save` wrote, there or in the folder of a stored step."""
        import pandas as pd

        folder = _inside(folder)
        record = describe(folder)
        refuse_damaged(folder, KIND)
        arrays, draws = (_stored_arrays(folder / file) for file in (_ARRAYS, _DRAWS))
        return cls(
            question=record["question"],
            version=record["version"],
            tables={name: pd.read_parquet(folder / f"{name}.parquet") for name in record["tables"]},
            arrays={name: arrays[name] for name in record["arrays"]},
            headline=with_draws([Number(**number) for number in record["headline"]], draws),
            figures=[Figure(**figure) for figure in record["figures"]],
            models={key: ModelRecord.from_json(one) for key, one in record["models"].items()},
            subject=record["subject"],
            notes=record["notes"],
            provenance=record["provenance"],
        )

    def _description(self) -> dict[str, Any]:
        return {
            "question": self.question,
            "version": self.version,
            "models": {key: record.to_json() for key, record in self.models.items()},
            "subject": self.subject,
            "headline": [number.to_json() for number in self.headline],
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


def describe(folder: Path) -> dict[str, Any]:
    """The JSON part of a stored result, without its tables: enough to list it, and cheap."""
    marker = Path(folder) / MARKER
    try:
        found = json.loads(marker.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{folder} holds no result (no {MARKER} in it)") from None
    except ValueError as error:
        raise UserError(f"{marker} is damaged ({error}); make it again, or restore it from a copy") from error
    if "models" not in found or not (Path(folder) / SEAL).exists():
        raise UserError(f"{folder} was saved by another version of bertscope; ask its question again")
    refuse_damaged(Path(folder), KIND, within=(MARKER,))
    return found


def _stored_arrays(file: Path) -> dict[str, np.ndarray]:
    if not file.exists():
        return {}
    from safetensors.numpy import load_file

    return load_file(file)


def _same_array(one: np.ndarray, other: np.ndarray) -> bool:
    import numpy as np

    same_kind = one.dtype == other.dtype and one.shape == other.shape
    return same_kind and bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))
