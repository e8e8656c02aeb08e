"""One text as several encoders see it: every token's vector in every layer, and what each token is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.models.batches import Batch
from bertscope.models.encoder import Encoder
from bertscope.models.observe import Seen, observe
from bertscope.models.words import encode

SPECIAL, TEXT, FIRST, SECOND, ANSWER = "special token", "text", "first text", "second text", "answer"


@dataclass(frozen=True, eq=False)
class Sentence:
    tokens: list[str]
    kinds: list[str]
    """Of each token: SPECIAL, TEXT or, of a pair, FIRST, SECOND and ANSWER."""
    states: list[np.ndarray]
    """Of each encoder [layer, token, dim]."""


def read_sentence(encoders: Sequence[Encoder], examples: Examples, row: int) -> Sentence:
    """Read one text. It is given to the tokenizer whole, whatever words its source marks: so its pieces have places
    in it, and an answer's are known."""
    one = replace(examples.take([row]), words=None, first_words=None, marks={}, governors=None, links=None)
    reader = _Reader()
    try:
        observe(encoders, one, [reader], long="left out")
    except UserError as error:
        if "longer than" not in str(error):
            raise
        raise UserError(f"the text {one.ids[0]!r} is longer than the model reads; choose a shorter one") from error
    tokens, kinds = _tokens(encoders[0], one)
    return Sentence(tokens, kinds, reader.states)


class _Reader:
    needs = frozenset({"hidden_states"})

    def __init__(self) -> None:
        self.states: list[np.ndarray] = []

    def update(self, batch: Batch, seen: Sequence[Seen]) -> None:
        """A batch of one text has no padding."""
        self.states = [np.stack([layer[0].float().cpu().numpy() for layer in one.hidden_states]) for one in seen]


def _tokens(encoder: Encoder, one: Examples) -> tuple[list[str], list[str]]:
    """Each token as the text has it, and what it is."""
    coded = encode(encoder.tokenizer, one).encodings[0]
    texts = (one.text[0], one.pair[0] if one.pair else "")
    answers = one.answers[0] if one.answers else ()
    tokens, kinds = [], []
    for token, which, (start, end) in zip(coded.tokens, coded.sequence_ids, coded.offsets, strict=True):
        if which is None:
            tokens.append(token)
            kinds.append(SPECIAL)
            continue
        tokens.append(texts[which][start:end].strip() or token)
        answered = which == 1 and any(start < to and end > at for at, to in answers)
        kinds.append(ANSWER if answered else (FIRST, SECOND)[which] if one.pair else TEXT)
    return tokens, kinds
