"""Claims about what probes read off layers: trees (Hewitt and Manning 2019), what lies low and what high (van Aken et
al. 2019), and what fine-tuning keeps of it (Merchant et al. 2020)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from bertscope.core.estimate import Estimate, cell, column, extreme, mean
from bertscope.study.claims.records.claim import Bound, Claim, Evidence, Published, Source
from bertscope.study.claims.records.embeddings import CURVES, EMBEDDINGS
from bertscope.study.claims.records.evidence import TREES, after_first, by_key, evidence, first_model, of_tuned
from bertscope.study.claims.records.preconditions import (
    AboveChance,
    NotTaught,
    Studied,
    TunedFromFirst,
)
from bertscope.study.claims.records.skill import TENTH

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.result import Result

PROBES = Source(
    "Probes", "Hewitt and Manning 2019, A Structural Probe; van Aken et al. 2019, How Does BERT Answer Questions?"
)
_LOW, _HIGH = ("pos", "relation"), ("frame", "label")
"""What probes ask that is about single words and their links, and what needs the whole text."""
_LINGUISTIC = ("pos", "relation", "frame", "entity", "gender")
"""What probes ask that is about language; which word it is, how long the text is and its label are not."""
_STRUCTURE = "bertscope structure BASE TUNED --on TREEBANK"
_kept = partial(
    Claim, source=EMBEDDINGS, where="abstract", needs=(TunedFromFirst(), NotTaught(TREES), AboveChance()),
    asks=Bound(">", -TENTH, of_skill=True), published=CURVES,
)  # fmt: skip
_probed = partial(Claim, source=PROBES)
_depth = partial(
    _probed, where="van Aken et al., as a reproduction among the sources reports it", question="probe", unit="depth",
    needs=(Studied(),), published=Published("stated without a number"),
)  # fmt: skip


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
    """What the base has of trees is what it has more than a chain of words."""
    if "changes" not in result.tables:  # there is one checkpoint
        return
    paired = result.tables["changes"]
    changes = by_key(paired[paired["metric"] == "uuas"], "checkpoint")
    skill = _trees(result)[first_model(result).id] - _chain(result)
    for tuned in after_first(result):
        if tuned.id in changes:
            about = {"skill": skill, "note": "paired by sentence"}
            effect = cell(changes[tuned.id], "value", "low", "high")
            yield of_tuned(result, tuned, effect, _sentences(result), "sentences", **about)


def _chain(result: Result) -> Estimate:
    """What each word linked to its neighbour gives."""
    return column(_uuas(result, "linear_chain"), "value")[0]


def trees_by_training(result: Result) -> Iterator[Evidence]:
    """The pretrained model's tree beside the best that can be had without training: of random weights, or a chain of
    words."""
    best, base = _trees(result), first_model(result)
    random = [one for one in result.models.values() if one.origin and one.origin.by == "random" and one.came_of(base)]
    if random:
        without = {"random weights": best[random[0].id], "a chain": _chain(result)}
        effect = best[base.id] - extreme(list(without.values()), max)
        note = ", ".join(f"{name} {found.value:.3f}" for name, found in without.items())
        yield evidence(result, effect, _sentences(result), "sentences", model=base, note=note)


def keeps_knowledge(result: Result) -> Iterator[Evidence]:
    """What the base knows is what probes read off its layers more often than the majority's label is right."""
    if "changes" not in result.tables:  # there is one checkpoint
        return
    rows = result.tables["changes"]
    rows = rows[rows["target"].isin(_LINGUISTIC)]
    for tuned in after_first(result):
        mine = rows[rows["checkpoint"] == tuned.id]
        if len(mine):
            targets = list(dict.fromkeys(mine["target"]))
            about = {"skill": _known(result, targets), "note": " and ".join(targets)}
            n = int(result.tables["targets"].set_index("target").loc[targets, "texts"].max())
            effect = mean([mean(column(target, "change")) for _, target in mine.groupby("target")])
            yield of_tuned(result, tuned, effect, n, "texts", **about)


def _known(result: Result, targets: Sequence[str]) -> Estimate:
    """The first model's accuracy above the majority's, mean over layers and then targets."""
    rows, majority = result.tables["probes"], result.tables["targets"].set_index("target")["majority"]
    rows = rows[(rows["checkpoint"] == first_model(result).id) & rows["target"].isin(targets)]
    parts = [(mean(column(mine, "accuracy")), float(majority[target])) for target, mine in rows.groupby("target")]
    return mean([accuracy - Estimate(blind, blind, blind) for accuracy, blind in parts])


def depth_of(*targets: str) -> Callable[[Result], Iterator[Evidence]]:
    """Where, from 0 (embeddings) to 1 (last layer), what the probes read of such targets is found."""

    def read(result: Result) -> Iterator[Evidence]:
        if "expected" not in result.tables:
            return
        depth, n = int(result.tables["probes"]["layer"].max()), int(result.tables["probes"]["n"].max())
        for model, rows in result.tables["expected"].groupby("checkpoint", sort=False):
            known = rows[rows["target"].isin(targets)]
            if len(known) and depth:  # a model may have no layer above the embeddings
                effect = mean(column(known, "expected")).times(1 / depth)
                note = " and ".join(known["target"])
                yield evidence(result, effect, n, "texts", model=result.models[str(model)], note=note)

    return read


KEPT = (
    _kept(
        "trees-are-kept",
        "Fine-tuning does not forget syntax: the structural probe finds as much after as before.",
        question="structure",
        effect="UUAS of the best layer, after minus before, unless trees were taught",
        unit="share of edges",
        read=keeps_trees,
        command=_STRUCTURE,
        margin="a tenth of what the base has above a chain of words, ours: a smaller loss counts as none",
    ),
    _kept(
        "knowledge-is-kept",
        "Fine-tuning does not forget linguistic knowledge: probes find as much after as before.",
        question="probe",
        effect="accuracy of probes after minus before, mean over layers and linguistic targets (parts of speech, "
        "relations, frames, entities, gender; not which word it is, nor how long the text is)",
        unit="accuracy",
        read=keeps_knowledge,
        command="bertscope probe BASE TUNED --on TREEBANK",
        margin="a tenth of what probes of the base have above the majority, ours: a smaller loss counts as none",
    ),
)

CLAIMS = (
    _probed(
        "trees-come-from-training",
        "The syntax tree is in the pretrained model's space: more of it than without training.",
        where="Hewitt and Manning, results",
        needs=(Studied(), NotTaught(TREES)),
        question="structure",
        effect="UUAS of the best layer minus the better of random weights and a chain of words",
        unit="share of edges",
        asks=Bound(">", 0),
        read=trees_by_training,
        published=Published("UUAS .798 for bert-base-cased on PTB; random weights far below, on other data"),
        command=f"{_STRUCTURE} --random",
    ),
    _depth(
        "low-level-below",
        "Low-level information (parts of speech, dependencies) is in the lower layers.",
        effect="expected layer of parts of speech and relations, from 0 (embeddings) to 1 (last)",
        asks=Bound("<", 0.5),
        read=depth_of(*_LOW),
        command="bertscope probe MODEL --on TREEBANK",
    ),
    _depth(
        "high-level-on-top",
        "High-level information (what the text is about, what the task asks) is in the upper layers.",
        effect="expected layer of frames and the task's label, from 0 (embeddings) to 1 (last)",
        asks=Bound(">", 0.5),
        read=depth_of(*_HIGH),
        command="bertscope probe MODEL --on TASK",
    ),
)
