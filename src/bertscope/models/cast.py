"""Many models of one question, a few of them in memory at a time: each is opened once, and rests in its files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bertscope.core.in_turn import InTurn
from bertscope.core.model_record import ModelRecord
from bertscope.models.encoder import Encoder
from bertscope.models.stage import Stage


@dataclass(frozen=True)
class Member:
    """A model, which may be resting, and what is known of it, which nobody sees while it rests."""

    encoder: Encoder
    record: ModelRecord


class Cast:
    """Models in their order. Those that a user holds stay as they are; those that are opened here rest until they are
    on (`stage.py`)."""

    def __init__(self, models: Sequence[Encoder | InTurn], folder: Path) -> None:
        self._stage = Stage(folder)
        self.members = [self._opened(one) for one in models]

    def _opened(self, one: Encoder | InTurn) -> Member:
        if not isinstance(one, InTurn):
            return Member(one, one.record)
        encoder: Encoder = one.open()
        record = encoder.record
        self._stage.rest([encoder])
        return Member(encoder, record)

    @contextmanager
    def on(self, *members: Member) -> Iterator[None]:
        """Have these run in this block."""
        with self._stage.on([one.encoder for one in members]):
            yield
