"""A tokenised text, end to end in one file that is mapped into memory: however long it is, none of it is held.

`tokens.json` says what it is of, and how much there is of it; `train.bin` and `held_out.bin` have the pieces, with
[SEP] behind each document. The tokenizer lies beside them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.folders import recover, refuse_foreign, remove, whole_folder
from bertscope.core.progress import Progress, progress
from bertscope.core.seal import FILE as SEAL
from bertscope.core.seal import refuse_damaged
from bertscope.data.documents import Documents, is_held_out
from bertscope.models.new_vocabulary import SPECIAL, learn_vocabulary
from bertscope.models.open_tokenizer import save_tokenizer, tokenizer_in

_KIND = "tokenised-text"
_MARKER = "tokens.json"
_WINDOW = 16_384  # lines that are tokenised at a time
_AT_ONCE = 2**20  # pieces that are counted at a time
_LEARNT_FROM = 100_000_000  # characters at most that a vocabulary is learnt from: more give no other one

_NO_TEXT = "there is no text to learn from; give files with some, documents parted by blank lines"


@dataclass(frozen=True)
class Counts:
    """How much text there is."""

    documents: int
    characters: int
    pieces: int
    """Of what is learnt from."""
    held_out_documents: int
    held_out_pieces: int


@dataclass(frozen=True)
class PackedText:
    tokenizer: Any
    train: np.ndarray
    held_out: np.ndarray
    counts: Counts
    digest: str
    """What it is: the texts and how they were read."""

    def frequencies(self) -> np.ndarray:
        """[piece]: its share of what is learnt from; as if each were met once more than it is."""
        met = np.ones(len(self.tokenizer))
        for start in range(0, len(self.train), _AT_ONCE):
            met += np.bincount(self.train[start : start + _AT_ONCE], minlength=len(met))
        return met / met.sum()

    @classmethod
    def open(cls, folder: Path) -> PackedText:
        record = json.loads((folder / _MARKER).read_text(encoding="utf-8"))
        train, held_out = (_mapped(folder / f"{name}.bin", record["dtype"]) for name in ("train", "held_out"))
        return cls(tokenizer_in(folder), train, held_out, Counts(**record["counts"]), record["digest"])


def packed_text(
    texts: Iterable[Documents],
    folder: Path,
    digest: str,
    *,
    vocabulary: int | None,
    usual: int,
    cased: bool,
    held_out: float,
    longest: int,
    resume: bool,
    reader: Any = None,
) -> PackedText:
    """The texts as a `reader`, or a vocabulary learnt from them, reads them, kept in `folder`: taken up again if it
    is there, and of the same `digest`. A `vocabulary` that was asked for is held to; the `usual` one may become
    smaller."""
    recover(folder)
    if (folder / SEAL).is_file():
        refuse_damaged(folder, _KIND, cure="delete it and run again")
        if resume and (found := PackedText.open(folder)).digest == digest:
            return found
    refuse_foreign(folder, _KIND)
    remove(folder)
    texts = list(texts)
    with whole_folder(folder, _KIND) as scratch:
        likely = sum(one.likely_size for one in texts)
        tokenizer = reader
        if reader is None:
            with progress("learning the vocabulary", None) as bar:
                lines = partial(_some_lines, texts, held_out, -(-likely // _LEARNT_FROM), bar)
                tokenizer = learn_vocabulary(lines, vocabulary or usual, cased=cased, longest=longest)
            _refuse_too_few(tokenizer, vocabulary)
        save_tokenizer(tokenizer, scratch)
        dtype = "uint16" if len(tokenizer) <= 2**16 else "int32"
        with progress("tokenising", likely) as bar:
            counts = _write(texts, tokenizer, dtype, held_out, scratch, bar)
        if not counts.pieces:
            raise UserError(_NO_TEXT)
        record = {"digest": digest, "dtype": dtype, "counts": asdict(counts)}
        (scratch / _MARKER).write_text(json.dumps(record), encoding="utf-8")
    return PackedText.open(folder)


def _refuse_too_few(tokenizer: Any, wanted: int | None) -> None:
    """A vocabulary with fewer pieces than were asked for, or with none."""
    if len(tokenizer) == len(SPECIAL):
        raise UserError(_NO_TEXT)
    if wanted and len(tokenizer) < wanted:
        raise UserError(
            f"the text gives a vocabulary of {len(tokenizer):,} pieces, not {wanted:,}; give more text, or "
            f"--vocabulary {len(tokenizer)}"
        )


def _some_lines(texts: Iterable[Documents], held_out: float, every: int, bar: Progress) -> Iterator[str]:
    """The lines of every so many documents."""
    learnt = (lines for lines in chain.from_iterable(texts) if not is_held_out(lines, held_out))
    for lines in islice(learnt, 0, None, max(1, every)):
        bar.advance(1)
        yield from lines


def _write(
    texts: Iterable[Documents], tokenizer: Any, dtype: str, held_out: float, folder: Path, bar: Progress
) -> Counts:
    documents, pieces, characters = [0, 0], [0, 0], 0
    separator = np.array([tokenizer.sep_token_id], dtype)
    read = deepcopy(tokenizer.backend_tokenizer)
    read.no_truncation()  # as the last call of a tokenizer that is in use may have left it
    read.no_padding()
    with (folder / "train.bin").open("xb") as train, (folder / "held_out.bin").open("xb") as held:
        marked = _marked(chain.from_iterable(texts), held_out)
        while window := list(islice(marked, _WINDOW)):
            coded = read.encode_batch_fast([line for line, _, _ in window], add_special_tokens=False)
            for (line, side, last), encoding in zip(window, coded, strict=True):
                ids = np.array(encoding.ids, dtype)
                found = np.concatenate([ids, separator]) if last else ids
                (held if side else train).write(found.tobytes())
                documents[side] += last
                pieces[side] += len(found)
                characters += 0 if side else len(line)
            bar.advance(sum(len(line) for line, _, _ in window))
    return Counts(documents[0], characters, pieces[0], documents[1], pieces[1])


def _marked(documents: Iterable[list[str]], held_out: float) -> Iterator[tuple[str, bool, bool]]:
    """Each line, whether its document is held out, and whether it is the last of it."""
    for lines in documents:
        side = is_held_out(lines, held_out)
        for place, line in enumerate(lines, start=1):
            yield line, side, place == len(lines)


def _mapped(path: Path, dtype: str) -> np.ndarray:
    """A file as an array; nothing can be mapped of an empty one."""
    return np.memmap(path, dtype, "r") if path.stat().st_size else np.empty(0, dtype)
