"""Which word each token belongs to, for any family's fast tokenizer.

A word is what the source marks (`Examples.words`, a treebank) or else a unit of the tokenizer's pre-tokeniser:
BERT's and the byte-level families' split at spaces and punctuation, SentencePiece's mostly at spaces only.

- Marked words keep their numbers, whatever becomes of them: a word that the tokenizer normalises away (a control
  character for BERT) has no token, so its number is simply missing. The units of a plain text are numbered without
  gaps, those of a pair's second text after those of the first.
- Special tokens are never words, also where they are typed in the text. Nor is mere space: byte-level and
  SentencePiece tokenizers leave pieces of nothing else where a text has double spaces or a word is normalised away.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from bertscope.core.examples import Examples
from bertscope.models.library_failures import library_failures

NO_WORD = -1


def encode(tokenizer: Any, texts: Examples, **how: Any) -> Any:
    """Call the tokenizer on texts, pairs or marked words; `how` goes to it as it is."""
    given: tuple[Any, ...] = (list(texts.text), None if texts.pair is None else list(texts.pair))
    if texts.words is not None:
        # The space is what `add_prefix_space` would add: without it, byte-level tokenizers glue words together. Given
        # with the words it asks for no change to the tokenizer, and it also serves those that split before they map
        # bytes, where the option would put a space before every part of a word. Others drop it, or add it themselves.
        words = [[" " + word for word in sentence] for sentence in texts.words]
        given, how = (words,), how | {"is_split_into_words": True}
        if texts.pair is not None:
            assert texts.first_words is not None
            cut = ((row[:n], row[n:]) for row, n in zip(words, texts.first_words, strict=True))
            given = tuple(map(list, zip(*cut, strict=True)))
    with library_failures("the tokenizer can't read these texts", "leave out what it fails over, or take another"):
        return tokenizer(*given, **how)


def special_ids(tokenizer: Any) -> list[int]:
    """The ids of the special tokens. [UNK] isn't one here: it stands for a word."""
    return sorted(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id})


def align(tokenizer: Any, coded: Any, special: np.ndarray, texts: Examples) -> tuple[np.ndarray, np.ndarray]:
    """Each token's word in its example (-1 for none), and the text of the pair it is in (0 or 1), all end to end.

    coded     what `encode` gave for `texts`
    special   whether a token is special, all end to end
    """
    encodings = coded.encodings
    example = np.repeat(np.arange(len(encodings)), [len(encoding) for encoding in encodings])
    words = _flat(encoding.word_ids for encoding in encodings)
    paired = any(encoding.n_sequences > 1 for encoding in encodings)
    segments = _flat(encoding.sequence_ids for encoding in encodings) if paired else np.zeros_like(words)
    segments = segments.clip(0).astype(np.int8)
    words[special] = NO_WORD

    inside = np.flatnonzero(words >= 0)
    width = words.max(initial=0) + 1
    units, unit = np.unique((2 * example + segments)[inside] * width + words[inside], return_inverse=True)
    ids = np.fromiter(chain.from_iterable(coded["input_ids"]), np.int64, len(words))[inside]
    has_text = np.zeros(len(units), dtype=bool)
    has_text[unit[~_blank(tokenizer, ids)]] = True
    words[inside[~has_text[unit]]] = NO_WORD
    if texts.words is None:
        number = np.cumsum(has_text) - 1
        before = np.searchsorted(units[has_text], 2 * width * np.arange(len(encodings)))
        kept = has_text[unit]
        words[inside[kept]] = number[unit[kept]] - before[example[inside[kept]]]
    elif texts.first_words is not None:
        second = (segments == 1) & (words >= 0)
        words[second] += np.array(texts.first_words, dtype=words.dtype)[example[second]]
    return words, segments


def word_ids(encodings: Any) -> np.ndarray:
    """Each token's word as the tokenizer itself counts them, from 0 in every example, those of a pair's second text
    after all of its first's; -1 for the special tokens that it adds. All end to end."""
    words, segments = (_flat(getattr(one, name) for one in encodings) for name in ("word_ids", "sequence_ids"))
    return np.where((words < 0) | (segments < 0), NO_WORD, words + segments * (words.max(initial=0) + 1))


def _flat(columns: Any) -> np.ndarray:
    """Lists of numbers and None as one array, None as -1."""
    return np.nan_to_num(np.array([*chain.from_iterable(columns)], dtype=np.float64), nan=-1).astype(np.int32)


def _blank(tokenizer: Any, ids: np.ndarray) -> np.ndarray:
    """Whether a token is nothing but space. Asked of the ids at hand only: a vocabulary can have 250,000."""
    kinds, kind = np.unique(ids, return_inverse=True)
    decoder = tokenizer.backend_tokenizer.decoder
    pieces = tokenizer.convert_ids_to_tokens(kinds.tolist())
    shown = (decoder.decode([piece]) if decoder else piece for piece in pieces)
    return np.array([not text.strip(" ▁\t\r\n\xa0") for text in shown], dtype=bool)[kind]
