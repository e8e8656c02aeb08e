"""Claims of *How Contextual are Contextualized Word Representations?* about the shape of the space."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from bertscope.core.estimate import column, extreme
from bertscope.study.claims.records.claim import Bound, Claim, Evidence, Published, Source
from bertscope.study.claims.records.evidence import evidence
from bertscope.study.claims.records.preconditions import BeyondRandomWeights, Studied

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.model_record import ModelRecord
    from bertscope.core.result import Result

GEOMETRY = Source("Geometry", "Ethayarajh 2019, How Contextual are Contextualized Word Representations?")
_claim = partial(
    Claim, source=GEOMETRY, question="geometry", command="bertscope geometry MODEL --on TEXTS",
    needs=(Studied(), BeyondRandomWeights()),
)  # fmt: skip


def from_bottom_to_top(measure: str) -> Callable[[Result], Iterator[Evidence]]:
    """A measure of the last layer minus that of the embeddings."""

    def read(result: Result) -> Iterator[Evidence]:
        for model, mine in _as_it_is(result, measure):
            first, *above = column(mine, "value")
            if above:  # a model may have no layer above the embeddings
                yield evidence(result, above[-1] - first, int(mine["n"].iloc[-1]), "texts", model=model)

    return read


def least_intra_sentence(result: Result) -> Iterator[Evidence]:
    for model, mine in _as_it_is(result, "intra_sentence_adjusted"):
        effect = extreme(column(mine, "value"), min)
        yield evidence(result, effect, int(mine["n"].iloc[-1]), "texts, corrected for layers", model=model)


def _as_it_is(result: Result, measure: str) -> Iterator[tuple[ModelRecord, pd.DataFrame]]:
    """The measure by layer, of the space as the model has it."""
    rows = result.tables["layers"].sort_values("layer")
    rows = rows[(rows["measure"] == measure) & (rows["form"] == "as_it_is")]
    for key, mine in rows.groupby("checkpoint", sort=False):
        yield result.models[str(key)], mine


CLAIMS = (
    _claim(
        "cone-narrows",
        "The deeper the layer, the more alike two random words are: the space is a cone that narrows.",
        where="anisotropy by layer; the course's slides",
        effect="cosine of two random words, last layer minus embeddings",
        unit="cosine",
        asks=Bound(">", 0),
        read=from_bottom_to_top("baseline"),
        published=Published("0.105 to 0.477, with 0.675 in layer 11 (bert-base-cased)", {"": 0.372}),
    ),
    _claim(
        "words-grow-contextual",
        "The deeper the layer, the less a word resembles itself in other texts.",
        where="self-similarity by layer",
        effect="SelfSim less the baseline, last layer minus embeddings",
        unit="cosine",
        asks=Bound("<", 0),
        read=from_bottom_to_top("self_similarity_adjusted"),
        published=Published("0.849 to 0.278 (bert-base-cased)", {"": -0.571}),
    ),
    _claim(
        "sentences-stay-apart",
        "The words of a sentence are more alike than random words, in every layer.",
        where="intra-sentence similarity by layer",
        effect="intra-sentence similarity less the baseline, in the layer where it is least",
        unit="cosine",
        asks=Bound(">", 0),
        read=least_intra_sentence,
        published=Published("0.195, in layer 11 (bert-base-cased)", {"": 0.195}),
    ),
)
