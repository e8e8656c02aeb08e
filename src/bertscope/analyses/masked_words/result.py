"""The answer of `masked-words`: a row for each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from bertscope.analyses.attention.maps import read_notes
from bertscope.analyses.masked_words.question import masked_words
from bertscope.core.errors import UserError
from bertscope.core.intervals import drawn_number, interval
from bertscope.core.result import Result
from bertscope.core.words import model_names

if TYPE_CHECKING:
    from bertscope.analyses.masked_words.measure import GuessReader
    from bertscope.core.model_record import ModelRecord
    from bertscope.models.observe import Passed


def masked_words_result(
    reader: GuessReader,
    passed: Passed,
    models: Mapping[str, ModelRecord],
    *,
    subject: Mapping[str, str],
    notes: Sequence[str],
) -> Result:
    """What was added up of these models, in their order."""
    rows, headline, names, unread = [], [], model_names(models), []
    for key, mean, texts in zip(models, reader.means, reader.texts.tolist(), strict=True):
        pieces = int(mean.count)
        if not pieces:
            raise UserError(f"no masked word of these texts is read by {names[key]}; give longer texts, or others")
        draws = {"accuracy": mean.draws[:, 0], "bits_per_piece": mean.draws[:, 1]}
        row: dict[str, object] = {"checkpoint": key}
        for name, found in draws.items():
            low, high = interval(found)
            row |= {name: float(found[0]), f"{name}_low": float(low), f"{name}_high": float(high)}
        rows.append(row | {"pieces": pieces, "texts": texts})
        headline.append(drawn_number("accuracy", draws["accuracy"], pieces, "accuracy", model=key))
        headline.append(drawn_number("bits_per_piece", draws["bits_per_piece"], pieces, "bits", model=key))
        if texts < passed.examples:
            without = f"{passed.examples - texts:,} of {passed.examples:,} texts"
            have = "has" if passed.examples - texts == 1 else "have"
            unread.append(f"{names[key]}: {without} {have} no masked word that it reads")
    return masked_words.result(
        tables={"scores": pd.DataFrame(rows)},
        headline=headline,
        models=dict(models),
        subject=dict(subject),
        notes=[*notes, *read_notes(passed), *unread],
    )
