"""What is typed, as a checkpoint reads it: its tokens and its words, and where they stand in what was typed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bertscope.analyses.attention.of_text import readable
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.live.checkpoints import MASK, Side
from bertscope.live.messages import Limits, Reading, Token
from bertscope.models.batches import Tokens, tokenise_whole
from bertscope.models.encoder import Encoder
from bertscope.models.outputs.base import ModelOutput
from bertscope.models.read_words import word_spans

_CANDIDATES = 26
"""As many as letters."""
_PARSED = "trees"
_MARKED = ("trees", "tokens")
"""Kinds that say something of each word."""


@dataclass(frozen=True, eq=False)
class Typed:
    """One reading, as one checkpoint reads it."""

    encoder: Encoder
    asked: ModelOutput | None
    examples: Examples
    """The reading: one example."""
    texts: tuple[str, ...]
    """By side, as they were typed: the text, then the second one or the candidates."""
    read: tuple[str, ...]
    """The same as they are read: with the tokenizer's own mask."""
    rows: Tokens
    """A row, or one for each text or candidate that is read by itself."""
    shown: list[Token]
    """All rows' tokens, one after the other."""

    @cached_property
    def words(self) -> list[tuple[int, int, int]]:
        """(side, start, end) of each word, counted through the example as `Examples` does."""
        marked = self.examples.words
        if marked is not None and self.asked is not None and self.asked.reads_marked_words:
            return [(0, start, end) for start, end in _places(self.texts[0], marked[0])]
        each = word_spans(self.encoder.tokenizer, self.read)
        found = list[tuple[int, int, int]]()
        for side, spans in enumerate(each):
            for start, end in spans:
                start, end = (_as_typed(self.texts[side], self.encoder, place) for place in (start, end))
                found.append((side, start, end))
        return found

    def word(self, place: int) -> str:
        side, start, end = self.words[place]
        return self.texts[side][start:end].strip()


def typed(side: Side, reading: Reading, limits: Limits) -> Typed:
    """Refuses, with what to do, what the checkpoint can't read."""
    encoder = side.encoder
    _refuse(reading, limits)
    asked = side.asked(reading)
    kind = "" if asked is None else asked.kind
    chooses = kind == "choices"
    if reading.choices and not chooses:
        raise UserError(f"{encoder.name} doesn't choose among candidates; leave them out")
    if chooses and (not reading.choices or reading.pair is not None):
        raise UserError(f"{encoder.name} chooses among candidates for one text; give them as choices")
    if kind in _MARKED and reading.pair is not None:
        raise UserError(f"{encoder.name} says something of each word of single texts; leave out the second one")
    if kind in ("spans", "vectors") and reading.pair is None:
        wanted = "a question and the text it is asked of" if kind == "spans" else "the two texts that are compared"
        raise UserError(f"{encoder.name} reads two texts: {wanted}; give the second one")
    texts = (reading.text, *([reading.pair] if reading.pair is not None else reading.choices))
    read = tuple(_with_own_mask(encoder, text) for text in texts)
    examples = Examples(
        ids=("1",),
        text=read[:1],
        pair=None if reading.pair is None else read[1:],
        choices=(read[1:],) if chooses else None,
        words=_marked_words(side, kind, read[0]),
    )
    rows = tokenise_whole(encoder.tokenizer, _as_rows(kind, examples))
    _refuse_long(encoder, asked, examples, rows, limits)
    return Typed(encoder, asked, examples, texts, read, rows, _shown(encoder, kind, examples, texts, rows))


def _refuse(reading: Reading, limits: Limits) -> None:
    second = [] if reading.pair is None else [reading.pair]
    for name, some in (("text", [reading.text]), ("second text", second), ("candidate", reading.choices)):
        if not all(text.strip() for text in some):
            raise UserError(f"the {name} is empty; give one with words")
    texts = [reading.text, *second, *reading.choices]
    if len(reading.choices) > _CANDIDATES:
        raise UserError(f"there are {len(reading.choices)} candidates; give at most {_CANDIDATES}")
    if (letters := sum(map(len, texts))) > limits.letters:
        raise UserError(f"the text has {letters:,} letters; give at most {limits.letters:,}")


def _refuse_long(
    encoder: Encoder, asked: ModelOutput | None, examples: Examples, rows: Tokens, limits: Limits
) -> None:
    most = min(limits.tokens, encoder.max_length)
    if (longest := int(rows.lengths.max())) > most:
        raise UserError(f"the text has {longest:,} tokens for {encoder.name}; give one of at most {most:,}")
    if rows.added.all():
        raise UserError(f"{encoder.name} reads no token of this text; give one with words")
    if asked is None:
        return
    found = asked.rows(examples)
    if found.truncated.any() or not np.array_equal(found.tokens.lengths, rows.lengths):
        raise UserError(f"the text is too long for {encoder.name}, which would read it in parts; give a shorter one")


def _as_rows(kind: str, examples: Examples) -> Examples:
    """The example as the rows that are read of it."""
    if kind == "vectors":
        assert examples.pair is not None
        return Examples(("1", "2"), (*examples.text, *examples.pair))
    if kind == "choices":
        assert examples.choices is not None
        candidates = examples.choices[0]
        ids = tuple(map(str, range(len(candidates))))
        return Examples(ids, examples.text * len(candidates), candidates)
    return examples


def _shown(encoder: Encoder, kind: str, examples: Examples, texts: Sequence[str], rows: Tokens) -> list[Token]:
    pieces = encoder.tokenizer.convert_ids_to_tokens(rows.fields["input_ids"].tolist())
    row = np.repeat(np.arange(len(rows)), rows.lengths)
    segments = rows.segments.astype(np.int64)
    side = row if kind == "vectors" else segments * (1 + row)
    begins = [] if examples.words is None else [start for start, _ in _places(texts[0], examples.words[0])]
    found = []
    for at, (piece, (start, end)) in enumerate(zip(pieces, rows.spans.tolist(), strict=True)):
        if rows.added[at]:
            found.append(Token(readable(encoder, piece), -1, 0, 0))
            continue
        here = int(side[at])
        if begins:  # counted in a word, before which there is a space
            word = int(rows.words[at])
            shift = begins[word] - 1 if word >= 0 else 0
            start, end = max(start + shift, begins[word] if word >= 0 else 0), end + shift
        start, end = (_as_typed(texts[here], encoder, place) for place in (start, end))
        found.append(Token(readable(encoder, piece), here, start, end))
    return found


def _marked_words(side: Side, kind: str, text: str) -> tuple[tuple[str, ...], ...] | None:
    """The words that are given to models of words: those that the data marks in the same text, or else, to a parser,
    the tokenizer's own; a tagger finds these itself."""
    if kind in _MARKED and text in side.marked_words:
        return (side.marked_words[text],)
    if kind != _PARSED:
        return None
    spans = word_spans(side.encoder.tokenizer, [text])[0]
    if not spans:
        raise UserError(f"{side.encoder.name} reads no token of this text; give one with words")
    return (tuple(text[start:end].strip() for start, end in spans),)


def _places(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Where marked words stand in their text; one that isn't there as it is written, where it would be."""
    found, at = list[tuple[int, int]](), 0
    for word in words:
        start = text.find(word, at)
        at = at if start < 0 else start + len(word)
        found.append((at, at) if start < 0 else (start, at))
    return found


def _with_own_mask(encoder: Encoder, text: str) -> str:
    own: Any = encoder.tokenizer.mask_token
    return text if own is None else text.replace(MASK, own)


def _as_typed(text: str, encoder: Encoder, place: int) -> int:
    """A place in a text that is read, in the text as it was typed."""
    own = len(encoder.tokenizer.mask_token or MASK)
    if own == len(MASK) or MASK not in text:
        return place
    shift = 0
    for mask in re.finditer(re.escape(MASK), text):
        if place <= mask.start() + shift:
            break
        shift += own - len(MASK)
    return place - shift
