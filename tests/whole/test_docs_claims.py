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

What the papers behind bertscope's questions say, written as hypotheses about stored results. `bertscope claims`
looks each of them up in a store; the page shows this ledger first. The list below is made from the records in
`src/bertscope/study/claims`.

## The rule

A claim is a statement about one number, its effect: the effect lies above or below a given value.

- **holds**: the whole 95% interval of the effect is on the claimed side.
- **fails**: none of it is.
- **holds, this training** and **fails, this training**: the same for a single fine-tuned model, by an interval over
  texts. Another training, with another seed, may come out differently; the interval doesn't cover that.
- **underpowered**: the interval reaches to both sides, no interval can be had, or what was measured is no evidence;
  the ledger says which.
- **not tested**: nothing stored bears on the claim, and the ledger gives the command that would test it; or the
  result's own null panel (`--null`) fails: where there is nothing to find it still finds something, so its findings
  mean nothing.

"Costs nothing" can't be shown, only that a loss is smaller than some margin, so such claims have one. The margin is
a share of the *skill*, which is what the whole model has above chance on that task: 3 points are little where a
model has 40 above the commonest answer, and all there is where it has 3. Where the source gives no value the share
is ours, mostly a tenth, and the claim says so. The skill has an error too: a claim holds (or fails) only if it does
at both ends of the skill's interval. Published numbers are of bert-base, mostly chosen and scored on the same dev
set; no verdict rests on them. But a bound must be fair to its source: the tests hold each bound against the source's
own numbers, and name the tasks whose numbers break it (`tests/study/test_claims_published.py`). Of the lottery's
eight tasks these are RTE for good m-subnetworks, MRPC and RTE for good s-subnetworks, CoLA, MRPC and QNLI for random
ones, and MRPC for bad ones.

## Several models side by side

```sh
bertscope claims --side-by-side
bertscope claims --store pocket-store --beside minilm-store --beside mpnet-store --side-by-side
```

A store may hold results of several pretrained models, and further stores can be judged in the same ledger.
`--side-by-side` prints a column for each pretrained model; a fine-tuned model stands in the column of the model that
it started from. The page has the same table, and [the ledger of our own results](findings/ledger.md) is made from
it.

## What must be so

Each claim says what must be so for a number to count as evidence (`needs` in its record, checked in one place). If
something isn't so, the number is void: it is shown without its interval, and the row says why. A number that has
nothing to do with the claim gets no row.

- *What fine-tuning did* is asked only of a model that was fine-tuned from the first one, as recorded in the model.
  Random weights, a model of another base, one that was cut or trained contrastively, and a subnetwork say nothing
  about it. Where nothing is recorded the row is underpowered; `--base` names the base of a checkpoint from elsewhere.
  Where layers were frozen or left out, what could move was chosen, so the row is underpowered too.
- *Which of two corpora is the task's* is known by content: what the model learnt from is a part of one, and not of
  the other; or the stored step says what both were read from. The corpora may be given in either order.
- *What a model can lose or do without* is asked only of a model that is clearly above chance on that task.
- *What pretrained models do* is not asked of random weights, nor of models that were trained contrastively. Where
  the same number is stored for random weights too, a claim about what training made holds only if the effect goes
  beyond that number.
- *What a model was trained on* is known by what its task asks (trees, spans, inference in three classes), as recorded
  in the model, not by the name of its data: what a parser knows of trees says nothing about pretraining.
- *Training* needs 5 trainings or more: a difference between two single trainings shows nothing about training.
- *Absence* needs power: that a loss lies within the margin holds only where there are enough texts to see a loss as
  large as the margin. Where no answer changes at all, a bootstrap's interval is a point, and a loss can still be as
  large as log(parts / 0.025) / texts; where few change, it is too short. So a loss of k texts counts as one as large
  as the exact limit behind k ([as good](methods.md#intervals-and-tests)).
- The null panel: the column `null` says whether it passed, failed, had too few draws, or was not asked for.

## Where intervals come from

- About one model as it is: from the stored bootstrap over texts (or words, or sentences). Its heads are all the heads
  there are, not a sample. For a pretrained model this interval decides the claim. For a model that was fine-tuned
  here, and for what its fine-tuning changed, it decides the claim for this training only, and the row says so.
- About training: the interval of the experiment itself, over seeds and texts, whose variance components are estimated
  separately ([methods](methods.md)); for shares of parts, Student's interval over seeds. Where 5 or more trainings
  differ by their seed alone, what `graft` says of them is one number, over seeds and texts; if a single null panel
  among them fails, the claim is not tested.
- A difference, or a mean, of numbers of one model whose resamples were not stored together gets its
  interval from the ends of theirs: too wide rather than too narrow.
- The best or worst of many parts is chosen on the data that give the intervals; each part's interval is widened for
  the number of parts (Bonferroni), to pay for the choice. Where `ablate`'s own test, corrected for their number
  (Holm), finds no difference, the part's interval reaches to 0: with few examples the bootstrap's is too narrow.
- A speed comes from repeated timings in turn on one machine, with whatever else ran there; with fewer than 6 rounds
  of timing it has no interval.

A kind of model on a task has one row. A model is known by what it holds: no name decides anything. Trainings that
differ by their seed alone are one kind; the row is about the training on which most claims can be read (of several,
the newest), and says how many others there are and how many of them agree. A model that was written over another in
the same folder replaces it: the newest counts, and the row says how many earlier ones were measured, or that only an
earlier one was. Of several results of one model, the one with the most seeds counts, then one corrected by a user's
labels, then the one with the most texts. An answer that two stores hold counts once, and so does one that two
versions of its question gave: the newer. A published number stands beside a task of exactly the source's name
(`glue/sst2`). Attention weighted by norms is not counted here.

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
