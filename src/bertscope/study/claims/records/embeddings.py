"""Claims of *What Happens To BERT Embeddings During Fine-tuning?* and of those it builds on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from bertscope.core.estimate import Estimate, cell, column, extreme, mean
from bertscope.core.layers import Layers
from bertscope.study.claims.records.claim import Bound, Claim, Evidence, Published, Source
from bertscope.study.claims.records.evidence import (
    INFERENCE,
    SPANS,
    TREES,
    by_key,
    evidence,
    first_model,
    layer_third,
    of_training,
    of_tuned,
    taught,
    tuned_from_first,
)

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.model_record import ModelRecord
    from bertscope.core.result import Result

EMBEDDINGS = Source("Embeddings", "Merchant et al. 2020, What Happens To BERT Embeddings During Fine-tuning?")
PROBES = Source(
    "Probes", "Hewitt and Manning 2019, A Structural Probe; van Aken et al. 2019, How Does BERT Answer Questions?"
)
_claim = partial(Claim, source=EMBEDDINGS)


def _rsa(result: Result) -> pd.DataFrame:
    """RSA of each layer with the same layer before, by corpus."""
    rows = result.tables["layers"]
    rows = rows[(rows["measure"] == "rsa") & (rows["layer"] == rows["other_layer"]) & (rows["layer"] > 0)]
    return rows.assign(third=layer_third(rows["layer"], rows["layer"].max()))


def _words(result: Result) -> int | None:
    """How many are compared."""
    return result.numbers(key="rsa_last_layer")[0].n


def top_moves_most(result: Result) -> Iterator[Evidence]:
    found = _rsa(result)
    found = found[found["corpus"] == result.subject.get("task", "")]
    for tuned in tuned_from_first(result):
        rows = found[found["other"] == tuned.id]
        top, below = (column(rows[chosen], "value") for chosen in (rows["third"] == 3, rows["third"] < 3))
        if top and below:
            yield of_tuned(result, tuned, mean(below) - mean(top), int(rows["n"].max()), "texts")


def elsewhere_moves_less(result: Result) -> Iterator[Evidence]:
    if "corpora" in result.tables:
        rows = result.tables["corpora"]
        rows = rows[(rows["measure"] == "rsa") & (rows["layer"] == rows["layer"].max())]
        by_model = by_key(rows, "other")
        for tuned in tuned_from_first(result):
            if tuned.id in by_model:
                effect = cell(by_model[tuned.id], "difference", "low", "high")
                yield of_tuned(result, tuned, effect, _words(result), "texts")


def _uuas(result: Result, arm: str) -> pd.DataFrame:
    rows = result.tables["scores"]
    return rows[(rows["metric"] == "uuas") & (rows["arm"] == arm)]


def _trees(result: Result) -> dict[str, Estimate]:
    """The best layer's UUAS of each checkpoint."""
    rows = _uuas(result, "probe")
    best = by_key(rows[rows["best_layer"] & rows["best_rank"]], "checkpoint")
    return {key: cell(row, "value", "low", "high") for key, row in best.items()}


def _sentences(result: Result) -> int:
    """How many are scored: a root is looked for in each."""
    rows = result.tables["scores"]
    return int(rows.loc[rows["metric"] == "root_accuracy", "n"].max())


def keeps_trees(result: Result) -> Iterator[Evidence]:
    """After a fine-tuning that has not taught the trees themselves."""
    if "changes" not in result.tables:  # there is one checkpoint
        return
    paired = result.tables["changes"]
    changes = by_key(paired[paired["metric"] == "uuas"], "checkpoint")
    for tuned in tuned_from_first(result):
        if tuned.id in changes and taught(tuned) != TREES:
            effect = cell(changes[tuned.id], "value", "low", "high")
            yield of_tuned(result, tuned, effect, _sentences(result), "sentences", note="paired by sentence")


def trees_by_training(result: Result) -> Iterator[Evidence]:
    """The pretrained model's tree beside the best that can be had without training: of random weights, or a chain of
    words. Not of a model that was taught trees."""
    best, base = _trees(result), first_model(result)
    random = [one for one in result.models.values() if one.origin and one.origin.by == "random" and one.came_of(base)]
    if random and taught(base) != TREES:
        chain = column(_uuas(result, "linear_chain"), "value")[0]
        without = {"random weights": best[random[0].id], "a chain": chain}
        effect = best[base.id] - extreme(list(without.values()), max)
        note = ", ".join(f"{name} {found.value:.3f}" for name, found in without.items())
        yield evidence(result, effect, _sentences(result), "sentences", model=base, note=note)


_LINGUISTIC = ("pos", "relation", "frame", "entity", "gender")
"""What probes ask that is about language; which word it is, how long the text is and its label are not."""


def keeps_knowledge(result: Result) -> Iterator[Evidence]:
    if "changes" not in result.tables:  # there is one checkpoint
        return
    rows = result.tables["changes"]
    rows = rows[rows["target"].isin(_LINGUISTIC)]
    for tuned in tuned_from_first(result):
        mine = rows[rows["checkpoint"] == tuned.id]
        if len(mine) and taught(tuned) != TREES:
            targets = list(dict.fromkeys(mine["target"]))
            n = int(result.tables["targets"].set_index("target").loc[targets, "texts"].max())
            effect = mean([mean(column(target, "change")) for _, target in mine.groupby("target")])
            yield of_tuned(result, tuned, effect, n, "texts", note=" and ".join(targets))


def low_level_low(result: Result) -> Iterator[Evidence]:
    """Where, from 0 to 1, what the probes read is found."""
    if "expected" in result.tables:
        depth = int(result.tables["probes"]["layer"].max())
        for model, rows in result.tables["expected"].groupby("checkpoint", sort=False):
            known = rows[rows["target"].isin(("pos", "relation"))]
            if len(known):
                scaled = known.assign(**{key: known[key] / depth for key in ("expected", "low", "high")})
                n = int(result.tables["probes"]["n"].max())
                effect = mean(column(scaled, "expected"))
                yield evidence(result, effect, n, "texts", model=result.models[str(model)])


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
        if taught(after) in lessons:
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
        "parsing-moves-deeper",
        "Dependency parsing reconfigures most of the model, MNLI and SQuAD involve much shallower changes.",
        where="abstract",
        question="similarity",
        effect="RSA of the lower two thirds after inference (in three classes, as in MNLI) or questions minus that "
        "after parsing, on the same texts",
        unit="correlation",
        asks=Bound(">", 0),
        read=below_parsing,
        published=_NO_NUMBER,
        command=f"{_SIMILARITY} --against OTHER",
        margin="needs two results: one of a model tuned on inference or questions, one of a parser; known by what "
        "the tasks ask, not by their names",
        compares=True,
    ),
    _claim(
        "lower-layers-can-freeze",
        "Freezing the first two thirds of the layers costs little.",
        where="partial freezing",
        needs_skill=True,
        question="freeze",
        effect="score with embeddings and the first two thirds frozen, minus with everything trained",
        unit="score",
        asks=Bound(">", -0.02),
        read=frozen_below,
        published=Published("MNLI and SQuAD lose little with 8 of 12 layers frozen; curves, no number"),
        command="bertscope freeze BASE --on TASK --seeds 0 1 2 3 4",
        margin="a loss within 2 points counts as little, ours",
    ),
    _claim(
        "trees-are-kept",
        "Fine-tuning does not forget syntax: the structural probe finds as much after as before.",
        where="abstract",
        question="structure",
        effect="UUAS of the best layer, after minus before, unless trees were taught",
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
        effect="accuracy of probes after minus before, mean over layers and linguistic targets (parts of speech, "
        "relations, frames, entities, gender; not which word it is, nor how long the text)",
        unit="accuracy",
        asks=Bound(">", -0.02),
        read=keeps_knowledge,
        published=_NO_NUMBER,
        command="bertscope probe BASE TUNED --on TREEBANK",
        margin="a loss within 2 points counts as none, ours",
    ),
    Claim(
        "trees-come-from-training",
        "The syntax tree is in the pretrained model's space: more of it than without training.",
        source=PROBES,
        where="Hewitt and Manning, results",
        question="structure",
        effect="UUAS of the best layer minus the better of random weights and a chain of words",
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
