"""docs/claims.md is what the records say. `python tests/whole/test_docs_claims.py` writes it anew."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from bertscope.study.claims.records import CLAIMS
from bertscope.study.claims.records.claim import Claim

PAGE = Path(__file__).resolve().parents[2] / "docs" / "claims.md"
_WORDS = {">": "above", ">=": "at least", "<": "below", "<=": "at most"}
_INTRODUCTION = """\
# Claims

What the works that bertscope's questions come from say, as hypotheses about stored results. `bertscope claims`
looks each up in a store; the page shows the ledger first. This list is made from the records in
`src/bertscope/study/claims`.

## The rule

A claim is a statement about one number, the effect: it lies above or below a value.

- **holds**: the whole 95% interval of the effect is on the claimed side.
- **fails**: none of it is.
- **holds, this training** and **fails, this training**: the same of one fine-tuned model, by an interval over
  texts. Trained again, with another seed, it may come out otherwise: that is not in the interval.
- **underpowered**: the interval reaches to both sides, no interval can be had, or what was measured is no evidence;
  the ledger says which.
- **not tested**: nothing stored bears on it, and the command that would test it is given; or the result's own null
  panel (`--null`) fails: where there is nothing to find it finds something, so what it finds is nothing.

"Costs nothing" can't be shown, only that a loss is smaller than something: such claims have a margin. It is a share
of the *skill*, of what the whole model has above chance on that task: 3 points are little where a model has 40
above the commonest answer, and all there is where it has 3. Where the source gives no value the share is ours,
mostly a tenth, and says so. The skill has an error too: a claim holds (or fails) only if it does with either end of
the skill's interval. Published numbers are of bert-base, mostly chosen and scored on the same dev set; no verdict
rests on them. But a bound must be fair to its source: the tests hold each against the source's own numbers, and
name the tasks on which those break it (`tests/study/test_claims_published.py`): of the eight tasks of the lottery
RTE for good m-subnetworks, MRPC and RTE for good s-subnetworks, CoLA, MRPC and QNLI for random ones, MRPC for bad
ones.

## Several models side by side

```sh
bertscope claims --side-by-side
bertscope claims --store pocket-store --beside minilm-store --beside mpnet-store --side-by-side
```

A store may hold results of several pretrained models, and further stores can be judged in the same ledger.
`--side-by-side` prints a column for each; what was fine-tuned stands in the column of the model that it began as. The
page has the same table, and [the ledger of our own results](findings/ledger.md) is made of it.

## What must be so

Each claim says what it needs for a number to be evidence (`needs` in its record, asked in one place). What isn't so
voids the number: it is shown without its interval, and the row says why; what has nothing to do with the claim has
no row.

- *What fine-tuning did* is asked of a model that was fine-tuned from the first one, by what is recorded in the
  model. Random weights, another base's model, one that was cut, or trained contrastively, or a subnetwork say
  nothing about it. Where nothing is recorded the row is underpowered, and `--base` names the base of a checkpoint
  from elsewhere. Where layers were frozen or left out, what could move was chosen.
- *Which of two corpora is the task's* is known by content: what the model learned from is a part of one, and not of
  the other; or the stored step says what both were read from. The corpora may be given in either order.
- *What a model can lose or do without* is asked of one that is clearly above chance, on that task.
- *What pretrained models do* is not asked of random weights, nor of models that were trained contrastively. Where
  the same number of random weights is stored beside it, a claim about what training made holds only beyond that.
- *What a model was trained on* is known by what the task asks (trees, spans, inference in three classes), as it is
  recorded in the model, not by the name of its data: what a parser has of trees says nothing about pretraining.
- *Training* needs 5 trainings or more: a difference between two single trainings shows nothing about training.
- *Absence* needs power: that a loss lies within the margin holds only where there are enough texts for a loss as
  large as the margin to be seen. Where no answer changes at all a bootstrap's interval is a point, and a loss can
  still be as large as log(parts / 0.025) / texts; where few do, it is too short. A loss of k texts counts as one as
  large as the exact limit behind k ([as good](methods.md#intervals-and-tests)).
- The null panel: the column `null` says whether it passed, failed, had too few draws, or was not asked for.

## Where intervals come from

- About one model as it is: from the stored bootstrap over texts (or words, or sentences). Its heads are all there
  are: they are not a sample. Of a pretrained model this decides the claim; of a model that was fine-tuned here, and
  of what its fine-tuning changed, it decides the claim of this training, and the row says so.
- About training: the interval of the experiment itself, over seeds and texts, whose variance components are
  estimated apart ([methods](methods.md)); of shares of parts, Student's over seeds. What `graft` says of 5
  trainings or more that differ by their seed alone is one number, over seeds and texts; one failed null panel among
  them is enough for nothing to be tested.
- A difference, or a mean, of numbers of one model whose resamples were not stored together has the ends set against
  each other: too wide rather than too narrow.
- The best or worst of many parts is chosen on the data that give the intervals; each part's is widened for their
  number (Bonferroni), so that the choice is paid for. Where `ablate`'s own test, corrected for the number of parts
  (Holm), finds no difference, the part's interval reaches to 0: with few examples the bootstrap's is too narrow.
- A speed is that of repeated timings in turn on one machine, with whatever else ran there; timed fewer than 6 times
  it has none.

A kind of model on a task has one row, and a model is what it holds: no name decides anything. Trainings that differ
by their seed alone are one kind; the row speaks of the one that most claims are read off (of several, the newest),
and says how many others there are and how many agree. What was written over another model in the same folder has
taken its place: the newest counts, and the row says how many earlier ones were measured, or that only an earlier
one was. Of several results of one model the one with most seeds counts, then one that a user's labels correct, then
the one with most texts. A published number stands beside a task of exactly the source's name (`glue/sst2`).
Attention weighted by norms is not counted here.

## How often it errs

ERROR_RATES
"""


def page() -> str:
    parts = [_INTRODUCTION.replace("ERROR_RATES", _error_rates())]
    for source, claims in groupby(CLAIMS, key=lambda claim: claim.source):
        head = "| claim | effect | claimed | needs | published | where | tested by |\n|---|---|---|---|---|---|---|"
        parts += [f"## {source.name}", f"{source.cite}.", "\n".join([head, *map(_row, claims)])]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _error_rates() -> str:
    """What `error_rates.py` has written: it takes minutes."""
    return PAGE.read_text(encoding="utf-8").partition("## How often it errs\n\n")[2].partition("\n## ")[0].strip()


def _row(claim: Claim) -> str:
    margin = f" ({claim.margin})" if claim.margin else ""
    at = f"{claim.asks.at:.0%} of the skill" if claim.asks.of_skill else f"{claim.asks.at:.4g}"
    cells = (
        f"{claim.says} `{claim.id}`", f"{claim.effect}; {claim.unit}",
        f"{_WORDS[claim.asks.side]} {at}{margin}", "; ".join(need.says for need in claim.needs),
        claim.published.says, claim.where,
        f"`{claim.command}`",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def test_the_page_is_what_the_records_say():
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python tests/whole/test_docs_claims.py"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
