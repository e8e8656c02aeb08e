"""Pairs as tables: what is answered of each, and of a few what every layer carries at every token."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bertscope.core.units import Unit
from bertscope.data.minimal import MinimalPairs
from bertscope.models.contrasts import Contrasts
from bertscope.models.outputs.base import ModelOutput
from bertscope.models.paired_rows import SIDES
from bertscope.models.patching import Patch, patched

TOKENS = "tokens"


def pair_table(found: Contrasts, pairs: MinimalPairs) -> pd.DataFrame:
    """A row for each pair that was patched."""
    at = found.paired.pairs
    texts = {"clean": pairs.clean, "corrupted": pairs.corrupted}
    told = {side: [_whole(one.text[row], one.pair, row) for row in at] for side, one in texts.items()}
    asked = found.paired.asked
    return pd.DataFrame(
        {
            "pair": [pairs.clean.ids[row] for row in at],
            "phenomenon": [pairs.phenomenon[row] for row in at],
            **told,
            **{f"{side}_answer": answers_in_words(asked, found.answers[side]) for side in SIDES},
            **{f"{side}_difference": found.of[side] for side in SIDES},
        }
    )


def _whole(text: str, seconds: tuple[str, ...] | None, row: int) -> str:
    return text if seconds is None else f"{text} · {seconds[row]}"


def answers_in_words(asked: ModelOutput, answers: np.ndarray) -> list[str]:
    """What was answered, in words where there are any."""
    if answers.dtype.kind == "f":
        return [f"{answer:.3f}" for answer in answers]
    if asked.reads_typed_masks:
        pieces = asked.encoder.tokenizer.convert_ids_to_tokens
        return [" ".join(pieces([int(one) for one in row if one >= 0])) for row in answers]
    if answers.ndim == 1:
        return [asked.names[answer] if asked.names else str(answer + 1) for answer in answers]
    if answers.max(initial=0) <= 1 and answers.shape[1] == len(asked.names):
        return [", ".join(np.array(asked.names)[row == 1]) for row in answers]
    return [" ".join(asked.names[one] for one in row if one >= 0) for row in answers]


def token_table(found: Contrasts, pairs: MinimalPairs, few: int) -> dict[str, pd.DataFrame]:
    """Of the first pairs, the share of the difference that each layer carries at each token; none where an example is
    read as several rows."""
    paired = found.paired
    if (np.diff(paired.starts) != 1).any():
        return {}
    tokenizer, layers = paired.asked.encoder.tokenizer, paired.asked.encoder.n_layers
    parts = []
    for pair in range(min(few, len(found))):
        tokens = [_tokens(found, side, pair) for side in SIDES]
        words = [tokenizer.convert_ids_to_tokens(each.tolist()) for each in tokens]
        names = [
            f"{place} {one}" if one == other else f"{place} {one} / {other}"
            for place, (one, other) in enumerate(zip(*words, strict=True), start=1)
        ]
        units = [Unit("layer", layer) for layer in range(layers + 1)]
        patches = [Patch(unit, place) for unit in units for place in range(len(names))]
        moved = patched(found, patches, pairs=np.array([pair]))[:, 0] - found.of["corrupted"][pair]
        parts.append(
            pd.DataFrame(
                {
                    "pair": pairs.clean.ids[paired.pairs[pair]],
                    "place": np.tile(np.arange(1, len(names) + 1), len(units)),
                    "token": names * len(units),
                    "layer": np.repeat([unit.layer for unit in units], len(names)),
                    "share": moved / found.between[pair],
                }
            )
        )
    return {TOKENS: pd.concat(parts, ignore_index=True)} if parts else {}


def _tokens(found: Contrasts, side: str, pair: int) -> np.ndarray:
    tokens = found.paired.rows[side].tokens  # type: ignore[index]
    row = found.paired.starts[pair]
    return tokens.fields["input_ids"][tokens.starts[row] : tokens.starts[row] + tokens.lengths[row]]
