"""Claims about the layers that hold what fine-tuning taught, of two sources: what `graft` says of the top layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bertscope.core import null_panel
from bertscope.core.estimate import Estimate, cell
from bertscope.core.intervals import ENOUGH_RUNS
from bertscope.study.claims.records.claim import Bound, Claim, Evidence, Published
from bertscope.study.claims.records.dark_secrets import DARK_SECRETS
from bertscope.study.claims.records.embeddings import CURVES, EMBEDDINGS
from bertscope.study.claims.records.estimates import over_seeds
from bertscope.study.claims.records.evidence import after_first, data_held, first_model, of_training, of_tuned
from bertscope.study.claims.records.preconditions import AboveChance, TunedFromFirst

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.model_record import ModelRecord
    from bertscope.core.result import Result

First = Callable[[int], int]
"""From the number of layers to the first of those that are meant."""


def last_two(layers: int) -> int:
    return layers - 1


def top_third(layers: int) -> int:
    """As `layer_third` has it.

    >>> top_third(12), top_third(6), top_third(4)
    (9, 5, 3)
    """
    return 2 * layers // 3 + 1


def carried_by(first: First) -> Callable[[Result, Sequence[Result]], Iterator[Evidence]]:
    """The share of the gain in score that some layers and all above them give. Of 5 trainings or more that differ by
    their seed alone it is one number, with Student's interval over them, and one result speaks for all: one whose
    null panel fails, if there is any. Of fewer, each speaks for itself."""

    def read(result: Result, others: Sequence[Result]) -> Iterator[Evidence]:
        for tuned in after_first(result):
            found = _shares(result, tuned, others, first)
            if not any(one is result for one, _ in found):
                continue
            _, mine = next(pair for pair in found if pair[0] is result)
            n, note = result["score"].n, f"{_count(result, first)} of {_layers(result)} layers"
            known = [share for _, row in found if not np.isnan(share := float(row["score_share"]))]
            if len(found) < ENOUGH_RUNS:
                if known and not np.isnan(mine["score_share"]):
                    share = cell(mine, "score_share", "score_share_low", "score_share_high")
                    yield of_tuned(result, tuned, share, n, "texts", note=note)
            elif known and result is _speaker([one for one, _ in found]):
                apart = "" if len(known) == len(found) else (
                    f"in {len(found) - len(known)} of {len(found)} trainings base and tuned can't be told apart"
                )  # fmt: skip
                effect = Estimate(float(np.mean(known))) if apart else over_seeds(known)
                yield of_training(result, effect, len(found), n, "seeds", model=tuned, note=note, why=apart)

    return read


def _shares(
    result: Result, tuned: ModelRecord, others: Sequence[Result], first: First
) -> list[tuple[Result, pd.Series]]:
    """Of each training like this one, on the same data, these layers' row; of several of one model the first."""
    alike: dict[str, tuple[Result, pd.Series]] = {}
    for one in others:
        if not one.models or not first_model(one).is_same(first_model(result)) or data_held(one) != data_held(result):
            continue
        rows = one.tables["grafts"]
        rows = rows[(rows["kind"] == "top_down") & (rows["layer"] == first(_layers(one)))]
        for other in after_first(one):
            if len(rows) and _count(one, first) < _layers(one) and other.place == tuned.place:
                alike.setdefault(other.id, (one, rows.iloc[0]))
    return list(alike.values())


def _layers(result: Result) -> int:
    rows = result.tables["grafts"]
    count = rows.loc[rows["kind"] == "top_down", "layer"].max()
    return 0 if np.isnan(count) else int(count)


def _count(result: Result, first: First) -> int:
    """How many layers are meant."""
    return _layers(result) - first(_layers(result)) + 1


def _speaker(results: Sequence[Result]) -> Result:
    return next((one for one in results if null_panel.fails(one)), results[0])


_NEEDS = (TunedFromFirst(), AboveChance())
_GRAFT = "bertscope graft BASE TUNED --on TASK"
_HALF = "more than half, ours: no share is told"
_OF = "share of the gain in score, from the base under the tuned task head to the tuned model, that tuned weights in"

LAST_TWO = (
    Claim(
        "last-two-layers-carry",
        "Fine-tuning puts what gains the score into the last two layers.",
        DARK_SECRETS,
        where="section 4.3",
        needs=_NEEDS,
        question="graft",
        effect=f"{_OF} the last two layers alone give",
        unit="share",
        asks=Bound(">", 0.5),
        read=carried_by(last_two),
        published=Published("concluded from what changes most, not measured"),
        command=_GRAFT,
        margin=_HALF,
        compares=True,
    ),
)
TOP_LAYERS = (
    Claim(
        "top-layers-carry",
        "Fine-tuning primarily affects the top layers: what was learnt is there.",
        EMBEDDINGS,
        where="abstract",
        needs=_NEEDS,
        question="graft",
        effect=f"{_OF} the top third of the layers alone give",
        unit="share",
        asks=Bound(">", 0.5),
        read=carried_by(top_third),
        published=CURVES,
        command=_GRAFT,
        margin=_HALF,
        compares=True,
    ),
)
