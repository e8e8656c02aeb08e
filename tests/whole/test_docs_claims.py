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

What the works that bertscope's questions come from say, as hypotheses about stored results. `bertscope claims` looks
each up in a store; the page shows the ledger first. This list is made from the records in
`src/bertscope/study/claims`.

## The rule

A claim is a statement about one number, the effect: it lies above or below a value.

- **holds**: the whole 95% interval of the effect is on the claimed side.
- **fails**: none of it is.
- **holds, this training** and **fails, this training**: the same of one fine-tuned model, by an interval over texts.
  Trained again, with another seed, it may come out otherwise: that is not in the interval.
- **underpowered**: the interval reaches to both sides, or no interval can be had; the ledger says which.
- **not tested**: nothing stored bears on it; the command that would test it is given.

"Costs nothing" can't be shown, only that a loss is smaller than something: such claims have a margin, which is named.
Where the source gives no value, the bound is ours and says so. Published numbers are of bert-base, mostly chosen and
scored on the same dev set; no verdict rests on them.

## Where intervals come from

- About one model as it is: from the stored bootstrap over texts (or words, or sentences). Its heads are all there
  are: they are not a sample. Of a pretrained model this decides the claim; of a model that was fine-tuned here, and
  of what its fine-tuning changed, it decides the claim of this training, and the row says so.
- About training, with the trainings of an experiment: by variance components over seeds and texts, or Student's
  interval over seeds. Fewer than 5 seeds have none: a difference between two single trainings shows nothing about
  training.
- A difference, or a mean, of numbers that were not resampled together has the ends set against each other: too wide
  rather than too narrow.
- The best or worst of many parts is chosen on the data that give the intervals; each part's is widened for their
  number (Bonferroni), so that the choice is paid for. Where `ablate`'s own test, corrected for the number of parts
  (Holm), finds no difference, the part's interval reaches to 0: with few examples the bootstrap's is too narrow.
- A speed is that of repeated timings in turn on one machine, with whatever else ran there; timed fewer than 6 times
  it has none.
- Agreement and shares of heads whose errors are not stored are resampled by layers: the heads of a layer are alike.

## What is no evidence

- What a model can do without, if the whole model is not clearly above chance: such a row is underpowered.
- What a model that was trained on trees has of trees, for claims about pretraining or forgetting. What a model was
  trained on is known by what the task asks (trees, spans, inference in three classes), as it is recorded in the
  model, not by the name of its data.
- What fine-tuning did, if it isn't recorded what the model was fine-tuned from: such a row is underpowered, and says
  so. `--base` names it for a checkpoint from elsewhere.

A kind of model on a task has one row, and a model is what it holds: no name decides anything. Trainings that differ
by their seed alone are one kind; the row speaks of the one that most claims are read off (of several, the newest),
and says how many others there are and how many agree. What was written over another model in the same folder has
taken its place: the newest counts, and the row says how many earlier ones were measured, or that only an earlier one
was. Of several results of one model the one with most seeds counts, then with most texts. A published number stands
beside a task of exactly the source's name (`glue/sst2`). Attention weighted by norms is not counted here.
"""


def page() -> str:
    parts = [_INTRODUCTION]
    for source, claims in groupby(CLAIMS, key=lambda claim: claim.source):
        head = "| claim | effect | claimed | published | where | tested by |\n|---|---|---|---|---|---|"
        parts += [f"## {source.name}", f"{source.cite}.", "\n".join([head, *map(_row, claims)])]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _row(claim: Claim) -> str:
    margin = f" ({claim.margin})" if claim.margin else ""
    cells = (
        f"{claim.says} `{claim.id}`", f"{claim.effect}; {claim.unit}",
        f"{_WORDS[claim.asks.side]} {claim.asks.at:.4g}{margin}", claim.published.says, claim.where,
        f"`{claim.command}`",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def test_the_page_is_what_the_records_say():
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python tests/whole/test_docs_claims.py"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
