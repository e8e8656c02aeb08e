"""Maps of a user's own model that a person has labelled: which are drawn, and the file of the labels.

All maps of a model on some texts, every head on every text, are numbered; which are drawn is a hash of the seed. The
order is random too: the first so many are a simple random sample, whenever somebody stops, and more can follow. So a
file tells whether its maps are those that were drawn, or were chosen by somebody.

The file has one JSON object a line: first what the maps are of, then each map with its label, in the order drawn.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bertscope.analyses.shapes import CLASSES
from bertscope.core import limits
from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.examples import Examples
from bertscope.core.files import digest_text, write_text
from bertscope.core.hashing import mixed, to_unit
from bertscope.core.model_record import ModelRecord
from bertscope.core.prediction_powered import LEAST
from bertscope.core.step import Root
from bertscope.core.units import Unit, every
from bertscope.data.plain_files import named
from bertscope.data.table_files import read_text

if TYPE_CHECKING:
    from bertscope.analyses.attention.view import View
    from bertscope.models.encoder import Encoder

FORMAT = 1
_AT_A_TIME = 256


@dataclass(frozen=True)
class LabelledMap:
    """A map as the file names it, and what it was called."""

    text: str
    """The example's id."""
    layer: int
    head: int
    label: str


@dataclass(frozen=True)
class OwnLabels:
    """What a file of labels holds."""

    model: str
    """The id of the model's record."""
    content: str
    model_name: str
    data_name: str
    texts: str
    """The digest of the texts that the maps are of."""
    seed: int
    labels: tuple[LabelledMap, ...] = ()
    source: str = "the file of labels"
    """Where it was read, for who is told that something is wrong with it."""

    @classmethod
    def begun(cls, encoder: Encoder, examples: Examples, seed: int) -> OwnLabels:
        """A file without labels."""
        record = encoder.record
        return cls(record.id, record.content, record.name, examples.name, digest_of_texts(examples), seed)

    def with_label(self, row: int, unit: Unit, examples: Examples, label: str) -> OwnLabels:
        assert unit.number is not None
        added = LabelledMap(examples.ids[row], unit.layer, unit.number, label)
        return replace(self, labels=(*self.labels, added))

    def without_last(self) -> OwnLabels:
        return replace(self, labels=self.labels[:-1])

    def is_of(self, record: ModelRecord) -> bool:
        """Whether its maps are this model's."""
        return ModelRecord(self.model, self.model_name, content=self.content).is_same(record)

    def places(self, encoder: Encoder, examples: Examples) -> Places:
        """Where its maps are, if they are those that were drawn of this model on these texts."""
        if not self.is_of(encoder.record):
            raise UserError(
                f"{self.source} has labels of maps of {self.model_name}, not of {encoder.name}; name that model, as "
                "it was then"
            )
        if self.texts != digest_of_texts(examples):
            raise UserError(
                f"{self.source} has labels of maps on {self.data_name or 'some texts'}, and these are other texts; "
                "read the same data in the same way (--limit, --data-seed ...)"
            )
        drawn = Places.drawn(len(examples), encoder.head_counts, self.seed, len(self.labels))
        for place, one in enumerate(self.labels):
            here = place < len(drawn.units) and (examples.ids[drawn.rows[place]], drawn.units[place])
            if here != (one.text, Unit("head", one.layer, one.head)):
                raise UserError(
                    f"{self.source}: map {place + 1} isn't the one that was drawn there with seed {self.seed}; only "
                    "maps that were drawn at random tell of all, so leave the file's order as it is"
                )
        return drawn

    @property
    def classes(self) -> np.ndarray:
        """[map]: the labels' places in `CLASSES`."""
        return np.array([CLASSES.index(one.label) for one in self.labels], dtype=int)

    def save(self, path: Path) -> None:
        """Write the file anew; it appears whole."""
        about = {name: value for name, value in asdict(self).items() if name not in ("labels", "source")}
        rows = [{"labels_of_maps": FORMAT} | about, *map(asdict, self.labels)]
        write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


@dataclass(frozen=True)
class Places:
    """Maps by the example's position and the head."""

    rows: np.ndarray
    units: Sequence[Unit]

    @classmethod
    def drawn(cls, texts: int, head_counts: Sequence[int], seed: int, count: int) -> Places:
        """The first `count` maps of the draw, or all, if there are no more; none twice."""
        heads = every("head", head_counts)
        of_all = texts * len(heads)
        key, found, asked = mixed(np.array([seed], np.uint64), np.uint64(0)), dict[int, None](), 0
        while len(found) < min(count, of_all):
            numbers = np.arange(asked, asked + _AT_A_TIME, dtype=np.uint64)
            found |= dict.fromkeys((to_unit(mixed(key, numbers)) * of_all).astype(np.int64).tolist())
            asked += _AT_A_TIME
        row, head = np.divmod(np.array(list(found)[:count], dtype=np.int64), len(heads))
        return cls(row, [heads[number] for number in head])

    def seen(self, layer: int, view: View) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which of the maps a layer (0-based) of a batch has; the row of the batch and the head of each."""
        which, at = self.rows_seen(view)
        here = np.array([self.units[place].layer_index == layer for place in which], dtype=bool)
        return which[here], at[here], np.array([self.units[place].index for place in which[here]], dtype=int)

    def rows_seen(self, view: View) -> tuple[np.ndarray, np.ndarray]:
        """Which of the maps are of a batch's texts, and the row of each."""
        which = np.flatnonzero(np.isin(self.rows, view.rows))
        order = np.argsort(view.rows)
        return which, order[np.searchsorted(view.rows, self.rows[which], sorter=order)]


def digest_of_texts(examples: Examples) -> str:
    """Of all that a model reads of them."""
    read = Examples(
        examples.ids, examples.text, examples.pair, words=examples.words, first_words=examples.first_words
    )
    return read.fingerprint


def read_labels(path: Any) -> OwnLabels:
    """Read a file that `bertscope train-patterns --label` wrote."""
    if isinstance(path, OwnLabels):
        return path
    try:
        if not Path(path).exists() and not Path(path).is_symlink():
            raise FileNotFoundError
        first, *rows = map(json.loads, read_text(Path(path), limits.LARGEST_LABELS).splitlines())
        if first.pop("labels_of_maps") != FORMAT:
            raise ValueError("another version of bertscope wrote it")
        found = OwnLabels(**first, labels=tuple(LabelledMap(**row) for row in rows), source=str(path))
        if type(found.seed) is not int or not 0 <= found.seed <= limits.LARGEST_NUMBER:
            raise ValueError("its seed is no number from 0 to 2**63 - 1")
    except FileNotFoundError as error:
        raise UserError(f"there is no file {path}; bertscope train-patterns --label makes it") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        told = f"{named(path)} isn't a file of labelled maps ({' '.join(str(error).split())[:120]})"
        raise UserError(f"{told}; bertscope train-patterns --label makes one") from error
    for place, one in enumerate(found.labels, start=1):
        if type(one.layer) is not int or type(one.head) is not int or not isinstance(one.text, str):
            raise UserError(
                f"{path}: map {place} needs a text's id, and a layer and a head as numbers; mend the line"
            )
        if one.label not in CLASSES:
            raise UserError(f"{path}: map {place} is labelled {one.label!r}; {did_you_mean(str(one.label), CLASSES)}")
    return found


def labels_root(path: Any) -> Root:
    """A file of labels as the input of a question, by content."""
    if not isinstance(path, str | Path):
        raise UserError("a stored answer reads labels from a file; give its path")
    read_labels(path)  # refuses what is none
    content = read_text(Path(path), limits.LARGEST_LABELS)
    return Root("map_labels", str(Path(path).absolute()), digest_text(content))


def need_enough(labels: OwnLabels) -> None:
    """Refuse labels that are too few to tell anything of all maps."""
    if len(labels.labels) < LEAST:
        raise UserError(
            f"{labels.source} has {len(labels.labels)} labelled maps, and {LEAST} are the least; go on with "
            "bertscope train-patterns --label"
        )
