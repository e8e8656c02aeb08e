"""A data set of the Hugging Face hub, read as it comes: nothing of it is kept on this machine.

hub:owner/name                                the split train
hub:owner/name:config:split@revision          another part of it, as it was then

A stream has no content to be known by before it is read: its identity is the commit that the hub has it at. A name
without a revision is asked for at the hub; one that is 40 digits long is a commit, and taken as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError
from bertscope.core.files import canonical_json, digest_text
from bertscope.core.step import Root
from bertscope.data.columns import text_columns
from bertscope.data.held import HUB
from bertscope.data.hub import loaded, revision_of
from bertscope.data.row_files import ColumnRows, Row, RowFile
from bertscope.data.source_kinds import Part
from bertscope.data.streamed import StreamedTexts

_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class _Place:
    """What a name says."""

    id: str
    config: str | None
    split: str
    revision: str | None

    @classmethod
    def of(cls, name: str) -> _Place:
        """
        >>> _Place.of("hub:owner/name::test@main")
        _Place(id='owner/name', config=None, split='test', revision='main')
        """
        rest, _, revision = name.removeprefix(HUB).partition("@")
        id, config, split, *more = (*rest.split(":"), "", "")
        if not id or any(more):
            raise UserError(
                f"{name} names no data set; write {HUB}owner/name, or {HUB}owner/name:config:split@COMMIT"
            )
        return cls(id, config or None, split or "train", revision or None)


@dataclass(frozen=True)
class StreamedHub(StreamedTexts):
    """The texts of a split. Each of its files is entered by itself; rows before the wanted one are passed over."""

    has_columns = True

    @cached_property
    def files(self) -> list[RowFile]:
        place = self._place
        with _from_hub(self.name):
            rows = loaded(place.id, place.config, place.split, revision=self._commit, streaming=True)
            count = rows.num_shards
        names = [place.id] if count == 1 else [f"{place.id}/{number}" for number in range(count)]
        return [
            HubFile(Path(str(self.name)), name, self.options, rows, number, count)
            for number, name in enumerate(names)
        ]

    def examples_root(self, split: Part) -> Root:
        self._refuse_split(split)
        self._refuse_options()
        place = self._place
        digest = digest_text(canonical_json([place.id, place.config, place.split, self._commit]))
        return Root("examples", str(self.name), digest, self.options.given())

    @property
    def size(self) -> int:
        raise UserError(f"how large {self.name} is isn't known before it is read; give a number of shards")

    @property
    def shown(self) -> str:
        return self._place.id

    @property
    def _place(self) -> _Place:
        return _Place.of(str(self.name))

    @cached_property
    def _commit(self) -> str:
        """Which commit it is read at: a name for one, such as main, can mean another tomorrow."""
        place = self._place
        if place.revision and _COMMIT.fullmatch(place.revision):
            return place.revision
        try:
            return revision_of(place.id, place.revision)
        except Exception as error:  # whatever the network can do
            raise UserError(
                f"{self.name} can't be identified, as the hub doesn't say which commit it has "
                f"({_in_a_line(error)}); name one: {HUB}owner/name@ and its 40 digits"
            ) from error


@contextmanager
def _from_hub(name: str | Path) -> Iterator[None]:
    """Makes one line of whatever the network, the hub or the library can do."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        raise UserError(
            f"{name} can't be had from the hub ({_in_a_line(error)}): is there a network, and is that its name?"
        ) from error


def _in_a_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:160]


@dataclass(frozen=True)
class HubFile(ColumnRows):
    """One of the files of a data set."""

    stream: Any
    """The `IterableDataset`."""
    number: int
    of: int

    def rows(self, at: int = 0, line: int = 1) -> Iterator[Row]:
        columns = [*self.columns.values()]
        with _from_hub(self.path):
            mine = self.stream.shard(num_shards=self.of, index=self.number).select_columns(columns).skip(at)
            for place, found in enumerate(mine, start=at):
                yield Row(place, place + 1, found)

    @cached_property
    def columns(self) -> dict[str, str]:
        with _from_hub(self.path):
            header = self.stream.column_names or [*next(iter(self.stream), ())]
        return text_columns(self.path, header, self.options.text, self.options.text_pair, self.options.id)
