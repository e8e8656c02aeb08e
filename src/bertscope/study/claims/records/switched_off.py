"""Claims of *Revealing the Dark Secrets of BERT* about what the model can do without: heads, layers, pre-training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from bertscope.core.estimate import Estimate, cell, column, extreme
from bertscope.study.claims.records.claim import Bound, Claim, Evidence, Published
from bertscope.study.claims.records.dark_secrets import DARK_SECRETS
from bertscope.study.claims.records.evidence import evidence, numbers, of_training
from bertscope.study.claims.records.preconditions import AboveChance, EnoughSeeds, PlainAttention, Power
from bertscope.study.claims.records.published import FROM_RANDOM, HEADS_OFF, TUNED, WITHOUT_TUNING, apart
from bertscope.study.claims.records.skill import NO_LOSS, TENTH

if TYPE_CHECKING:
    from bertscope.core.result import Result

_claim = partial(Claim, source=DARK_SECRETS)


def _extreme(result: Result, kind: str, pick: str) -> Iterator[Evidence]:
    """The best or worst effect of switching off one part of a kind, as the paper does it: to uniform attention."""
    rows = result.tables["effects"]
    rows = rows[rows["kind"] == kind]
    if result.subject.get("mode") == "uniform" and len(rows):
        effect = extreme(column(rows, "effect"), {"best": max, "worst": min}[pick], rows["certain"].tolist())
        over = f"texts, corrected for {len(rows)} parts"
        yield evidence(result, effect, result["score"].n, over, parts=len(rows))


def best_head(result: Result) -> Iterator[Evidence]:
    return _extreme(result, "head", "best")


def worst_head(result: Result) -> Iterator[Evidence]:
    return _extreme(result, "head", "worst")


def best_layer(result: Result) -> Iterator[Evidence]:
    return _extreme(result, "heads", "best")


def worst_layer(result: Result) -> Iterator[Evidence]:
    return _extreme(result, "heads", "worst")


def redundant_pairs(result: Result) -> Iterator[Evidence]:
    for model, number in numbers(result, "interaction_difference"):
        yield evidence(result, Estimate.of_number(number), number.n, "texts", model=model)


def named_heads(result: Result) -> Iterator[Evidence]:
    for model, number in numbers(result, "together_effect"):
        yield evidence(result, Estimate.of_number(number), number.n, "texts", model=model)


def gain_by(what: str) -> Callable[[Result], Iterator[Evidence]]:
    """What pre-training, or fine-tuning, adds to the score."""

    def read(result: Result) -> Iterator[Evidence]:
        rows = result.tables["effects"]
        for _, row in rows[rows["effect"] == what].iterrows():
            yield of_training(result, cell(row, "difference", "low", "high"), row["runs"], int(row["n"]))

    return read


_RANGES = "over single heads " + ", ".join(
    f"{task.removeprefix('glue/').upper()} {low:.3f}-{high:.3f}" for task, (low, high) in HEADS_OFF.items()
)
_of_parts = partial(_claim, needs=(AboveChance(),))
_WITHIN = (AboveChance(), Power())
"""What is needed where a loss is said to be within a margin."""
_ABLATE, _SCRATCH = "bertscope ablate TUNED --on TASK", "bertscope scratch BASE --on TASK --seeds 0 1 2 3 4"

CLAIMS = (
    _of_parts(
        "a-head-off-improves",
        "Switching off a single head can improve the model.",
        where="section 4.6",
        question="ablate",
        effect="change of the score without the head whose absence helps most",
        unit="score",
        asks=Bound(">", 0),
        read=best_head,
        published=Published(_RANGES),
        command=_ABLATE,
    ),
    _of_parts(
        "no-head-is-needed",
        "No single head is needed.",
        where="section 4.6",
        question="ablate",
        effect="change of the score without the head whose absence costs most",
        unit="score",
        needs=_WITHIN,
        asks=Bound(">", -TENTH, of_skill=True),
        read=worst_head,
        published=Published(_RANGES),
        command=_ABLATE,
        margin=NO_LOSS,
    ),
    _of_parts(
        "a-layer-off-improves",
        "Switching off all heads of a layer can improve the model.",
        where="section 4.6",
        question="ablate",
        effect="change of the score without the heads of the layer whose absence helps most",
        unit="score",
        asks=Bound(">", 0),
        read=best_layer,
        published=Published("RTE reaches .617 without layer 1, against .596 without the best single head"),
        command=_ABLATE,
    ),
    _of_parts(
        "no-layer-is-needed",
        "The model does well without all heads of any one layer.",
        where="section 4.6",
        question="ablate",
        effect="change of the score without the heads of the layer whose absence costs most",
        unit="score",
        needs=_WITHIN,
        asks=Bound(">", -0.25, of_skill=True),
        read=worst_layer,
        published=Published("QNLI falls to .828 without layer 10, the most that is reported"),
        command=_ABLATE,
        margin="a quarter of what the model has above chance, ours: the paper's largest fall (QNLI) is 21% of it",
    ),
    _of_parts(
        "similar-heads-are-redundant",
        "Heads that look alike stand in for each other.",
        where="the authors' blog post, first explanation",
        needs=(PlainAttention(), AboveChance()),
        question="redundancy",
        effect="what similar pairs cost together beyond the sum of what each costs, minus the same for random pairs",
        unit="score",
        asks=Bound("<", 0),
        read=redundant_pairs,
        published=Published("offered as an explanation, not measured"),
        command="bertscope redundancy TUNED --on TASK",
    ),
    _of_parts(
        "relation-heads-not-needed",
        "The heads that encode relations are not needed for the task.",
        where="section 4.6 and the authors' blog post, second explanation",
        question="redundancy",
        effect="change of the score with all the named heads off at once",
        unit="score",
        needs=_WITHIN,
        asks=Bound(">", -TENTH, of_skill=True),
        read=named_heads,
        published=Published("neither head is missed; no number"),
        command="bertscope redundancy TUNED --on TASK --together head:3.1 head:3.4",
        margin=NO_LOSS,
    ),
    _claim(
        "pretraining-gives",
        "Fine-tuning from pretrained weights beats the same training from random ones.",
        where="table 2",
        needs=(EnoughSeeds(),),
        question="scratch",
        effect="score of the fine-tuned model minus that of the same training from random weights",
        unit="score",
        asks=Bound(">", 0),
        read=gain_by("pretraining"),
        published=Published("11.5 to 79.8 points, by task", apart(TUNED, FROM_RANDOM)),
        command=_SCRATCH,
    ),
    _claim(
        "tuning-gives",
        "The pretrained model needs fine-tuning.",
        where="table 2",
        needs=(EnoughSeeds(),),
        question="scratch",
        effect="score of the fine-tuned model minus the higher of two: the untuned model with a new classifier, a "
        "constant answer",
        unit="score",
        asks=Bound(">", 0),
        read=gain_by("fine_tuning"),
        published=Published("11.9 to 49.6 points, by task", apart(TUNED, WITHOUT_TUNING)),
        command=_SCRATCH,
    ),
)
