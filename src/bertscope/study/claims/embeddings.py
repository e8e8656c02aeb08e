"""Claims of *What Happens To BERT Embeddings During Fine-tuning?* and of those it builds on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from bertscope.study.claims.claim import Bound, Claim, Published, Reading, Source
from bertscope.study.claims.estimates import cell, column, mean
from bertscope.study.claims.reading import UNTRAINED, layer_third, reading, tuned_from

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.result import Result

EMBEDDINGS = Source("Embeddings", "Merchant et al. 2020, What Happens To BERT Embeddings During Fine-tuning?")
PROBES = Source(
    "Probes", "Hewitt and Manning 2019, A Structural Probe; van Aken et al. 2019, How Does BERT Answer Questions?"
)
_claim = partial(Claim, source=EMBEDDINGS)


def _rsa(result: Result) -> pd.DataFrame:
    """RSA of each layer before and after, on the corpus that was asked about."""
    rows = result.tables["layers"]
    rows = rows[(rows["measure"] == "RSA") & (rows["layer"] == rows["other_layer"]) & (rows["layer"] > 0)]
    rows = rows[rows["corpus"] == result.subject["task"]] if "corpus" in rows else rows
    return rows.assign(third=layer_third(rows["layer"], rows["layer"].max()))


def top_moves_most(result: Result) -> Iterator[Reading]:
    for name, rows in _rsa(result).groupby("other", sort=False):
        top, below = (column(rows[chosen], "value") for chosen in (rows["third"] == 3, rows["third"] < 3))
        yield reading(result, mean(below) - mean(top), int(rows["n"].max()), "texts", model=name)


def elsewhere_moves_less(result: Result) -> Iterator[Reading]:
    if "corpora" in result.tables:
        rows = result.tables["corpora"]
        rows = rows[(rows["measure"] == "RSA") & (rows["layer"] == rows["layer"].max())]
        for _, row in rows.iterrows():
            effect, n = cell(row, "difference", "low", "high"), result.number("RSA, last layer").n
            yield reading(result, effect, n, "texts", model=row["other"])


def _trees(result: Result) -> dict[str, pd.Series]:
    """The best layer's UUAS of each checkpoint, in the order in which they were named."""
    rows = result.tables["scores"]
    rows = rows[(rows["metric"] == "UUAS") & (rows["arm"] == "probe") & rows["best_layer"] & rows["best_rank"]]
    return {row["checkpoint"]: row for _, row in rows.drop_duplicates("checkpoint").iterrows()}


def _trees_apart(result: Result, one: pd.Series, other: pd.Series) -> Reading:
    """How many more edges the first finds than the second; about the first."""
    effect = cell(one, "value", "low", "high") - cell(other, "value", "low", "high")
    return reading(result, effect, int(one["n"]), "sentences", model=one["checkpoint"])


def keeps_trees(result: Result) -> Iterator[Reading]:
    best = _trees(result)
    base = next(iter(best))
    for name in tuned_from(base, list(best)):
        yield _trees_apart(result, best[name], best[base])


def trees_by_training(result: Result) -> Iterator[Reading]:
    """The pretrained model's tree beside that in random weights."""
    base, *others = _trees(result).values()
    for other in others:
        if other["checkpoint"].endswith(UNTRAINED):
            yield _trees_apart(result, base, other)


def keeps_knowledge(result: Result) -> Iterator[Reading]:
    for name, rows in (
        result.tables["changes"].groupby("checkpoint", sort=False) if "changes" in result.tables else ()
    ):
        n = int(result.tables["probes"]["n"].max())
        yield reading(result, mean(column(rows, "change")), n, "texts", model=name)


def low_level_low(result: Result) -> Iterator[Reading]:
    """Where, from 0 to 1, what the probes read is found."""
    if "expected" in result.tables:
        depth = int(result.tables["probes"]["layer"].max())
        for name, rows in result.tables["expected"].groupby("checkpoint", sort=False):
            known = rows[rows["target"].isin(("pos", "relation"))]
            if len(known):
                scaled = known.assign(**{key: known[key] / depth for key in ("expected", "low", "high")})
                n = int(result.tables["probes"]["n"].max())
                yield reading(result, mean(column(scaled, "expected")), n, "texts", model=name)


_SIMILARITY = "bertscope similarity BASE TUNED --on DATA"
_STRUCTURE = "bertscope structure BASE TUNED --on TREEBANK"
_NO_NUMBER = Published("curves, no number")

CLAIMS = (
    _claim(
        "top-layers-move-most",
        "Fine-tuning primarily affects the top layers.",
        where="abstract",
        question="similarity",
        effect="RSA before and after, mean of the lower two thirds of the layers minus the top third",
        unit="correlation",
        asks=Bound(">", 0),
        read=top_moves_most,
        published=_NO_NUMBER,
        command=_SIMILARITY,
    ),
    _claim(
        "elsewhere-moves-less",
        "Fine-tuning has a weaker effect on text from another domain.",
        where="abstract",
        question="similarity",
        effect="RSA of the last layer on the task's own texts minus that on others",
        unit="correlation",
        asks=Bound("<", 0),
        read=elsewhere_moves_less,
        published=_NO_NUMBER,
        command=f"{_SIMILARITY} --against OTHER",
    ),
    _claim(
        "trees-are-kept",
        "Fine-tuning does not forget syntax: the structural probe finds as much after as before.",
        where="abstract",
        question="structure",
        effect="UUAS of the best layer, after minus before",
        unit="share of edges",
        asks=Bound(">", -0.02),
        read=keeps_trees,
        published=_NO_NUMBER,
        command=_STRUCTURE,
        margin="a loss within 2 points counts as none, ours",
    ),
    _claim(
        "knowledge-is-kept",
        "Fine-tuning does not forget linguistic knowledge: probes find as much after as before.",
        where="abstract",
        question="probe",
        effect="accuracy of probes after minus before, mean over layers and targets",
        unit="accuracy",
        asks=Bound(">", -0.02),
        read=keeps_knowledge,
        published=_NO_NUMBER,
        command="bertscope probe BASE TUNED --on TREEBANK",
        margin="a loss within 2 points counts as none, ours",
    ),
    Claim(
        "trees-come-from-training",
        "The syntax tree is in the pretrained model's space, more than in one with random weights.",
        source=PROBES,
        where="Hewitt and Manning, results",
        question="structure",
        effect="UUAS of the best layer minus that of random weights",
        unit="share of edges",
        asks=Bound(">", 0),
        read=trees_by_training,
        published=Published("UUAS .798 for bert-base-cased on PTB; random weights far below, on other data"),
        command=f"{_STRUCTURE} --random",
    ),
    Claim(
        "low-level-below",
        "Low-level information (parts of speech, dependencies) is in the lower layers.",
        source=PROBES,
        where="van Aken et al., as the reproduction in the sources tells it",
        question="probe",
        effect="expected layer of parts of speech and relations, from 0 (embeddings) to 1 (last)",
        unit="depth",
        asks=Bound("<", 0.5),
        read=low_level_low,
        published=Published("said, no number"),
        command="bertscope probe MODEL --on TREEBANK",
    ),
)
