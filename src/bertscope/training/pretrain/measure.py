"""`pretrain`: read the text, begin with a model, train it, and follow it on what is held out."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bertscope.core.config import to_json
from bertscope.core.errors import UserError
from bertscope.core.files import canonical_json, digest_text
from bertscope.core.folders import check_folder, remove
from bertscope.core.model_record import records
from bertscope.core.result import Result
from bertscope.data.documents import Documents
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from bertscope.models.open_tokenizer import tokenizer_digest
from bertscope.models.source import KIND
from bertscope.training.budget import Budget, Spent, kept_shares
from bertscope.training.checkpoint import Checkpoint
from bertscope.training.history import History, Trained
from bertscope.training.keeping import as_checkpoint
from bertscope.training.loop import train
from bertscope.training.masked_objective import MaskedWords, refuse_short_text
from bertscope.training.mixed_rows import MixedRows
from bertscope.training.packed_text import PackedText, packed_text
from bertscope.training.pretrain.beginning import beginning
from bertscope.training.pretrain.question import USUAL_WEIGHT, PretrainConfig
from bertscope.training.pretrain.result import pretrain_result
from bertscope.training.row_order import RowOrder
from bertscope.training.taught_words import TaughtWords, refuse_who_cannot_teach, taught_words

_READ_BY = ("vocabulary", "usual_vocabulary", "cased", "positions", "held_out")
"""The settings that decide what the text is tokenised to."""


def measure(
    texts: Sequence[Documents],
    config: PretrainConfig,
    *,
    start: Encoder | None = None,
    teacher: Encoder | None = None,
    out: str | Path | None = None,
    resume: bool = True,
) -> Trained:
    if out is None and config.keep != "none":
        raise UserError("checkpoints are kept in the model's folder; give out=, or leave out keep=")
    out = None if out is None else Path(out)
    if out is not None:
        check_folder(out, KIND)
    if teacher:
        refuse_who_cannot_teach(teacher)
    elif config.teacher_weight != USUAL_WEIGHT:
        raise UserError(f"teacher-weight is {config.teacher_weight}, but there is no teacher; name one by --teacher")
    begun = beginning(start, config)
    config = begun.shaped(config)
    with _folder_for_text(out) as folder:
        text = _read(texts, config, folder, resume=resume, reader=begun.reader(config))
        settled = config.settled(len(text.train))
        name = ", ".join(one.name for one in texts)
        encoder = begun.encoder(settled, text, name, teacher)
        rows = MixedRows(_orders(settled, text), list(settled.lengths.values()))
        spent = Spent(settled.steps, settled.minutes)
        course = Budget(
            spent, rows, highest=settled.learning_rate or 0, warmup=settled.warmup or 0,
            kept=kept_shares(settled.checkpoints, settled.keep),
        )  # fmt: skip
        refuse_short_text(text.held_out, settled.length, next_sentence=settled.next_sentence)
        taught = taught_words(text, teacher, folder.parent, encoder.device) if teacher else None
        objective = _objective(encoder, text, settled, taught, {"start": start, "teacher": teacher})
        kept = _Kept(encoder, objective, course, out, partial(begun.close, config=settled), half=settled.half)
        history = train(
            encoder, objective, settled.training(), out=out, resume=resume, course=course, halves=True,
            closed=kept.look,
        )  # fmt: skip
        begun.close(encoder, settled)
        if teacher and taught:
            history.notes.append(
                f"also learnt what {teacher.name} makes of {len(taught.vectors):,} words: its states' "
                f"{taught.vectors.shape[1]} main directions, {taught.kept:.0%} of their variance"
            )
    if out is not None:
        encoder.save(out, half=settled.half, within=kept.folders(history))
        for one in kept.folders(history).values():
            remove(one)
        Checkpoint.of(out).remove()
    counted = (text.counts, records([encoder]), objective.guessed)
    return Trained(encoder, pretrain_result(history, settled, *counted))


def kept(folder: Path, result: Result) -> Trained:
    return Trained(load(folder), result)


@contextmanager
def _folder_for_text(out: Path | None) -> Iterator[Path]:
    """Where the tokenised text lies: beside the model, so that a killed run finds it again; gone when all is done."""
    if out is None:
        with tempfile.TemporaryDirectory() as place:
            yield Path(place) / "text"
        return
    folder = out.with_name(out.name + ".text")
    yield folder
    remove(folder)


def _read(
    texts: Sequence[Documents], config: PretrainConfig, folder: Path, *, resume: bool, reader: Any = None
) -> PackedText:
    """`reader` is a tokenizer that is there already; otherwise one is learnt."""
    how = {name: getattr(config, name) for name in _READ_BY}
    if reader is not None:
        how["reader"] = tokenizer_digest(reader, config.n_positions)
    digest = digest_text(canonical_json([sorted(one.digest for one in texts), how]))
    text = packed_text(
        texts, folder, digest, vocabulary=config.vocabulary, usual=config.usual_vocabulary, cased=config.cased,
        held_out=config.held_out, longest=config.n_positions, reader=reader, resume=resume,
    )  # fmt: skip
    settled = config.settled(len(text.train))
    assert settled.batch_tokens
    if any(order.rows_per_pass < order.rows_per_step for order in _orders(settled, text)):
        raise UserError(
            f"the text has {len(text.train):,} pieces, not enough for a step of {settled.batch_tokens:,} tokens; "
            "give more text, or fewer --batch-tokens"
        )
    return text


def _orders(config: PretrainConfig, text: PackedText) -> list[RowOrder]:
    assert config.batch_tokens
    special = 3 if config.next_sentence else 2
    return [
        RowOrder(len(text.train), length, special, config.batch_tokens // length, config.seed)
        for length in config.lengths
    ]


def _objective(
    encoder: Encoder,
    text: PackedText,
    config: PretrainConfig,
    taught: TaughtWords | None,
    others: Mapping[str, Encoder | None],
) -> MaskedWords:
    """`others` are the models that it depends on."""
    assert config.batch_tokens
    settings = to_json(config) | {name: one.id for name, one in others.items() if one}
    return MaskedWords(
        encoder, text, batch_tokens=config.batch_tokens, rate=config.mask_rate,
        whole_words=config.masking == "words", next_sentence=config.next_sentence, dropout=config.dropout,
        half=config.half, compiled=config.compiled, length=config.length, beside=config.beside, seed=config.seed,
        fingerprint=digest_text(canonical_json([text.digest, settings])), taught=taught,
        teacher_weight=config.teacher_weight,
    )  # fmt: skip


class _Kept:
    """The checkpoints on the way: each a model of its own, beside the one that will have them inside."""

    def __init__(
        self,
        encoder: Encoder,
        objective: MaskedWords,
        course: Budget,
        out: Path | None,
        close: Callable[[Encoder], None],
        *,
        half: bool,
    ) -> None:
        """`close` makes a whole model of one that learns."""
        self._encoder, self._objective, self._course = encoder, objective, course
        self._out, self._close, self._half = out, close, half

    def look(self, history: History) -> None:
        """Keep one of where the training is now, if that is to be kept."""
        if self._out is not None and self._course.is_kept(len(history.epochs) - 1):
            step = self._course.steps_done(history)
            self._close(self._encoder)
            with self._objective.as_kept(), as_checkpoint(self._encoder, step) as encoder:
                encoder.save(self._folder(step), half=self._half)

    def folders(self, history: History) -> dict[str, Path]:
        """By the names that they get."""
        rows = (row for number, row in enumerate(history.epochs) if self._course.is_kept(number))
        steps = [int(row["step"]) for row in rows]
        return {f"checkpoint-{step}": self._folder(step) for step in steps}

    def _folder(self, step: int) -> Path:
        assert self._out is not None
        return self._out.with_name(f"{self._out.name}.checkpoint-{step}")
