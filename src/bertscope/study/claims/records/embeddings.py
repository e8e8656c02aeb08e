"""Claims of *What Happens To BERT Embeddings During Fine-tuning?*"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from bertscope.core.estimate import Estimate, cell, column, mean
from bertscope.core.layers import Layers
from bertscope.study.claims.records.claim import Bound, Claim, Evidence, Published, Source
from bertscope.study.claims.records.evidence import (
    INFERENCE,
    SPANS,
    TREES,
    after_first,
    by_key,
    evidence,
    fine_tuned_from,
    layer_third,
    of_training,
    of_tuned,
    task_corpus,
    taught,
)
from bertscope.study.claims.records.preconditions import (
    AboveChance,
    EnoughSeeds,
    OneIsItsTask,
    Power,
    TunedFromFirst,
)
from bertscope.study.claims.records.skill import NO_LOSS, TENTH

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.model_record import ModelRecord
    from bertscope.core.result import Result

EMBEDDINGS = Source("Embeddings", "Merchant et al. 2020, What Happens To BERT Embeddings During Fine-tuning?")
_claim = partial(Claim, source=EMBEDDINGS)


def _rsa(result: Result) -> pd.DataFrame:
    """RSA of each layer with the same layer before, by corpus."""
    rows = result.tables["layers"]
    rows = rows[(rows["measure"] == "rsa") & (rows["layer"] == rows["other_layer"]) & (rows["layer"] > 0)]
    return rows.assign(third=layer_third(rows["layer"], rows["layer"].max()))


def _words(result: Result) -> int:
    """How many are compared, in the first corpus."""
    return int(result.tables["layers"]["n"].iloc[0])


def top_moves_most(result: Result) -> Iterator[Evidence]:
    found = _rsa(result)
    found = found[found["corpus"] == result.subject.get("task", "")]
    for tuned in after_first(result):
        rows = found[found["other"] == tuned.id]
        top, below = (column(rows[chosen], "value") for chosen in (rows["third"] == 3, rows["third"] < 3))
        if top and below:
            yield of_tuned(result, tuned, mean(below) - mean(top), int(rows["n"].max()), "texts")


def elsewhere_moves_less(result: Result) -> Iterator[Evidence]:
    """On the task's own texts minus on the others, whichever of the two was given first."""
    if "corpora" in result.tables:
        rows = result.tables["corpora"]
        rows = rows[(rows["measure"] == "rsa") & (rows["layer"] == rows["layer"].max())]
        by_model = by_key(rows, "other")
        for tuned in after_first(result):
            if tuned.id in by_model:
                effect = cell(by_model[tuned.id], "difference", "low", "high")
                effect = -effect if task_corpus(result, tuned) == "there" else effect
                yield of_tuned(result, tuned, effect, _words(result), "texts")


def below_parsing(result: Result, others: Sequence[Result]) -> Iterator[Evidence]:
    """RSA of the lower layers after inference or questions, minus that after parsing, of the same base and texts."""
    for before, after, mine in _below(result, INFERENCE, SPANS):
        for other in others:
            for base, parser, theirs in _below(other, TREES):
                same = [corpus for corpus in mine if corpus in theirs]
                if base.is_same(before) and same:
                    effect = mine[same[0]] - theirs[same[0]]
                    about = {"model": after, "task": same[0], "note": f"minus {parser.name}", "runs": 1}
                    yield evidence(result, effect, _words(result), "texts", **about)


def _below(result: Result, *lessons: str) -> Iterator[tuple[ModelRecord, ModelRecord, dict[str, Estimate]]]:
    """Models before and after such a training, and the RSA of the lower two thirds on each corpus."""
    rows = _rsa(result)
    for keys, pair in rows[rows["third"] < 3].groupby(["checkpoint", "other"], sort=False):
        before, after = (result.models[key] for key in keys)
        if taught(after) in lessons and fine_tuned_from(after, before):
            found = {str(corpus): mean(column(mine, "value")) for corpus, mine in pair.groupby("corpus", sort=False)}
            yield before, after, found


def frozen_below(result: Result) -> Iterator[Evidence]:
    """The embeddings and the first two thirds of the layers frozen, against training everything."""
    if "movement" not in result.tables:  # which alone says how many layers there are
        return
    count = 2 * int(result.tables["movement"]["layer"].max()) // 3
    rows = result.tables["arms"]
    for _, row in rows[rows["arm"] == str(Layers.first(count))].iterrows() if count else ():
        yield of_training(result, cell(row, "effect"), row["runs"], int(row["n"]))


_SIMILARITY = "bertscope similarity BASE TUNED --on DATA"
CURVES = Published("curves, no number")
_TUNED = (TunedFromFirst(),)

CLAIMS = (
    _claim(
        "top-layers-move-most",
        "Fine-tuning primarily affects the top layers.",
        where="abstract",
        needs=_TUNED,
        question="similarity",
        effect="RSA between before and after: mean of the lower two thirds of the layers minus that of the top third",
        unit="correlation",
        asks=Bound(">", 0),
        read=top_moves_most,
        published=CURVES,
        command=_SIMILARITY,
    ),
    _claim(
        "elsewhere-moves-less",
        "Fine-tuning has a weaker effect on text from another domain.",
        where="abstract",
        needs=(TunedFromFirst(), OneIsItsTask()),
        question="similarity",
        effect="RSA of the last layer on the task's own texts minus that on others",
        unit="correlation",
        asks=Bound("<", 0),
        read=elsewhere_moves_less,
        published=CURVES,
        command=f"{_SIMILARITY} --against OTHER",
    ),
    _claim(
        "parsing-moves-deeper",
        "Dependency parsing reconfigures most of the model; MNLI and SQuAD involve much shallower changes.",
        where="abstract",
        needs=_TUNED,
        question="similarity",
        effect="RSA of the lower two thirds of the layers after training on inference (in three classes, as in MNLI) "
        "or questions, minus that after training on parsing, on the same texts",
        unit="correlation",
        asks=Bound(">", 0),
        read=below_parsing,
        published=CURVES,
        command=f"{_SIMILARITY} --against OTHER",
        margin="needs two results, one of a model tuned on inference or questions and one of a parser; they are "
        "known by what their tasks ask, not by their names",
        compares=True,
    ),
    _claim(
        "lower-layers-can-freeze",
        "Freezing the first two thirds of the layers costs little.",
        where="partial freezing",
        needs=(EnoughSeeds(), AboveChance(), Power()),
        question="freeze",
        effect="score with the embeddings and the first two thirds of the layers frozen, minus that with everything "
        "trained",
        unit="score",
        asks=Bound(">", -TENTH, of_skill=True),
        read=frozen_below,
        published=Published("MNLI and SQuAD lose little with 8 of 12 layers frozen; curves, no number"),
        command="bertscope freeze BASE --on TASK --seeds 0 1 2 3 4",
        margin=NO_LOSS,
    ),
)
