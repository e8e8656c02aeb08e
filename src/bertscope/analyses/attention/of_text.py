"""`attention`: the maps of one text or pair, of all heads of one checkpoint or of two."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bertscope.analyses.attention.maps import norm_weighted
from bertscope.core.attention_maps import ADDED, AttentionMaps
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.model_record import by_key
from bertscope.models.batches import Batch
from bertscope.models.encoder import Encoder
from bertscope.models.load import open_model
from bertscope.models.observe import Seen, observe

_SPACE = ("Ġ", "▁")
"""How tokenizers write the space before a word."""


def attention(
    model: Any,
    text: str,
    pair: str | None = None,
    other: Any = None,
    *,
    weighted: bool = False,
    tokenizer: Any = None,
    base: str | Path | None = None,
) -> AttentionMaps:
    """Where does each head look in this text?

    The attention maps of one text, or of a pair, in every head of a model: as arrays (`.maps[layer - 1]`,
    `.map(layer, head)`), as a table (`.to_frame()`), as a figure (`.plot(layer, head)`), as an interactive view that
    a notebook shows, and as a page (`.page("attention.html")`). They are kept with `.save(folder)`.

    model       `pocket`, a folder, a hub id, a transformers model, or an Encoder
    text, pair  what it reads: a text, or two
    other       a second checkpoint, shown beside the first; both must split the text into the same tokens
    weighted    attention times the length of the vector that it moves (Kobayashi et al. 2020), each query's summing
                to 1 again: a head that looks at [SEP] and takes nothing from it doesn't count as looking there
    tokenizer   of a transformers model that doesn't say where its tokenizer is
    base        what models whose origin isn't recorded were fine-tuned from
    """
    _refuse_empty(text, "text")
    if pair is not None:
        _refuse_empty(pair, "second text")
    told = None if base is None else str(base)
    given = [model] if other is None else [model, other]
    encoders = [open_model(one, tokenizer=tokenizer, base=told) for one in given]
    for encoder in encoders:
        if not any(encoder.head_counts):
            raise UserError(f"{encoder.name} has no heads left: it has no attention to look at")
    examples = Examples(ids=("1",), text=(text,), pair=None if pair is None else (pair,))
    kept = _Kept(weighted)
    passed = observe(encoders, examples, [kept], label="reading attention")
    tokens, in_text = _tokens(encoders[0], kept.batch)
    if all(place == ADDED for place in in_text):
        raise UserError(f"{encoders[0].name} reads no token of this text; give one with words")
    most = min(encoder.max_length for encoder in encoders)
    cut = [f"the text is longer than the {most} tokens that are read, and was cut"] if passed.truncated else []
    unknown = _unknown(encoders[0], tokens, in_text)
    named = by_key(encoders)
    return AttentionMaps(
        text=text, pair=pair, tokens=tokens, in_text=in_text,
        models={key: encoder.record for key, encoder in named.items()},
        of_models=dict(zip(named, kept.maps, strict=True)),
        weighted=weighted,
        notes=[*(note for encoder in encoders for note in encoder.opening_notes), *cut, *unknown],
    )  # fmt: skip


def _unknown(encoder: Encoder, tokens: Sequence[str], in_text: Sequence[int]) -> list[str]:
    """That pieces of the text aren't in the vocabulary, and look alike to the model."""
    read = [token for token, place in zip(tokens, in_text, strict=True) if place != ADDED]
    instead = str(encoder.tokenizer.unk_token)
    unknown = read.count(instead)
    what = "is a piece" if unknown == 1 else "are pieces"
    told = f"{unknown:,} of {len(read):,} tokens {what} that {encoder.name} doesn't know, read as {instead}"
    return [told] if unknown else []


def _refuse_empty(text: Any, which: str) -> None:
    if not isinstance(text, str):
        raise UserError(
            f"attention takes one {which}, not {type(text).__name__}; for a corpus ask patterns or change"
        )
    if not text.strip():
        raise UserError(f"the {which} is empty; give one with words")


class _Kept:
    """Keeps the maps of the only batch there is."""

    def __init__(self, weighted: bool) -> None:
        self.needs = frozenset({"maps", *({"norms"} if weighted else ())})

    def update(self, batch: Batch, seen: Sequence[Seen]) -> None:
        self.batch = batch
        weighted = "norms" in self.needs
        self.maps = [
            [
                (norm_weighted(maps, one.norms[layer]) if weighted else maps)[0].float().cpu().numpy().copy()
                for layer, maps in enumerate(one.maps)
            ]
            for one in seen
        ]


def _tokens(encoder: Encoder, batch: Batch) -> tuple[list[str], list[int]]:
    """What the model reads, readable; and which text each token is in."""
    pieces = encoder.tokenizer.convert_ids_to_tokens(batch.inputs["input_ids"][0].tolist())
    added, segments = batch.added[0].tolist(), batch.segments[0].tolist()
    return [readable(encoder, piece) for piece in pieces], [
        ADDED if is_added else segment for is_added, segment in zip(added, segments, strict=True)
    ]


def readable(encoder: Encoder, piece: str) -> str:
    """A token as the tokenizer calls it; its letters as they are, where the tokenizer writes bytes."""
    decoder = encoder.tokenizer.backend_tokenizer.decoder
    letters = decoder.decode([piece]).strip() if decoder else piece
    if not letters or "\ufffd" in letters:  # mere space, or a part of a letter
        return piece
    return piece[0] + letters if piece[0] in _SPACE else letters
