"""The answer of `claims`: the ledger, the results in words, and how many claims hold."""

from __future__ import annotations

import pandas as pd

from bertscope.core.figure import Figure
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.study.claims.question import claims
from bertscope.study.claims.records.claim import VERDICTS


def claims_result(ledger: pd.DataFrame, summary: pd.DataFrame, results: int, notes: list[str]) -> Result:
    """`results` is how many were read."""
    verdicts = ledger["verdict"].value_counts()
    sources = list(dict.fromkeys(ledger["source"]))
    counts = pd.DataFrame(
        {"source": source, "verdict": verdict,
         "rows": int(((ledger["source"] == source) & (ledger["verdict"] == verdict)).sum())}
        for source in sources for verdict in VERDICTS
    )  # fmt: skip
    return claims.result(
        tables={"ledger": ledger, "summary": summary, "counts": counts},
        headline=[Number(verdict, float(verdicts.get(verdict, 0)), n=len(ledger)) for verdict in VERDICTS],
        figures=[_figure()],
        subject={"of": f"{results} result{'s' * (results != 1)}"},
        notes=notes,
    )


def _figure() -> Figure:
    return Figure(
        "bars", "counts", x="rows", y="source", color="verdict", key="verdicts", title="Claims and verdicts",
        caption="How many claims of each source hold, fail, are underpowered or not tested; a claim counts once for "
        "each model and task that it was tested on. This training: of one fine-tuned model, over texts.",
        labels={"rows": "claims, each model and task apart", "source": ""},
    )  # fmt: skip
