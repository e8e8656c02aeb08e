"""Claims about the layers that hold what fine-tuning taught, of two sources: what `graft` says of the top layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bertscope.analyses.graft.question import TOP_DOWN
from bertscope.core import null_panel
from bertscope.core.estimate import Estimate, cell
from bertscope.core.intervals import ENOUGH_RUNS
from bertscope.study.claims.records.claim import Bound, Claim, Evidence, Published
from bertscope.study.claims.records.dark_secrets import DARK_SECRETS
from bertscope.study.claims.records.embeddings import CURVES, EMBEDDINGS
from bertscope.study.claims.records.estimates import over_seeds_and_texts
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
    their seed alone it is one number, with an interval over them and texts, and one result speaks for all: one whose
    null panel fails, if there is any. Of fewer, each speaks for itself."""

    def read(result: Result, others: Sequence[Result]) -> Iterator[Evidence]:
        for tuned in after_first(result):
            alike = _trainings(result, tuned, others, first)
            if not any(one is result for one in alike):
                continue
            found = [cell(_row(one, first), *_SHARE) for one in alike]
            mine = next(share for one, share in zip(alike, found, strict=True) if one is result)
            known = [share for share in found if not np.isnan(share.value)]
            n, layers = result["score"].n, _layers(result)
            note = f"{layers - first(layers) + 1} of {layers} layers"
            if len(alike) < ENOUGH_RUNS:
                if not np.isnan(mine.value):
                    yield of_tuned(result, tuned, mine, n, "texts", note=note)
            elif known and result is _speaker(alike):
                why = ""
                if len(known) < len(found):
                    effect = Estimate(float(np.mean([share.value for share in known])))
                    unlike = f"in {len(found) - len(known)} of {len(found)} trainings"
                    why = f"{unlike} base and tuned can't be told apart"
                else:
                    by_example = [one.arrays[TOP_DOWN][first(layers) - 1] for one in alike]
                    effect = over_seeds_and_texts(np.array(by_example, dtype=float))
                yield of_training(result, effect, len(alike), n, model=tuned, note=note, why=why)

    return read


def _trainings(result: Result, tuned: ModelRecord, others: Sequence[Result], first: First) -> list[Result]:
    """Of each training like this one, on the same data, the first result that tells of these layers."""
    alike: dict[str, Result] = {}
    for one in others:
        for other in after_first(one):
            same = other.id not in alike and other.place == tuned.place and data_held(one) == data_held(result)
            if same and first_model(one).is_same(first_model(result)) and first(_layers(one)) > 1:
                alike[other.id] = one
    return list(alike.values())


def _layers(result: Result) -> int:
    """How many there are; 0 where nothing is told of the top ones."""
    rows = result.tables["grafts"]
    layers = rows.loc[rows["kind"] == "top_down", "layer"]
    return int(layers.max()) if len(layers) else 0


def _row(result: Result, first: First) -> pd.Series:
    rows = result.tables["grafts"]
    return rows[(rows["kind"] == "top_down") & (rows["layer"] == first(_layers(result)))].iloc[0]


def _speaker(results: Sequence[Result]) -> Result:
    return next((one for one in results if null_panel.fails(one)), results[0])


_SHARE = ("score_share", "score_share_low", "score_share_high")
_NEEDS = (TunedFromFirst(), AboveChance())
_GRAFT = "bertscope graft BASE TUNED --on TASK"
_HALF = "more than half, ours: the source gives no share"
_OF = "share of the gain in score (from the base under the tuned task head to the tuned model) that tuned weights in"

LAST_TWO = (
    Claim(
        "last-two-layers-carry",
        "Fine-tuning puts what raises the score into the last two layers.",
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
