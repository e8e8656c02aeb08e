"""`claims`: what the source works say, checked against everything that is stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bertscope.core import registry
from bertscope.core.catalogue import question
from bertscope.core.figure import Figure
from bertscope.core.result import Number, Result, load_result
from bertscope.core.step import Root, Step

NAME = "claims"


@dataclass(frozen=True)
class ClaimsConfig:
    """Nothing to choose: every claim is looked at."""


@question(
    NAME,
    inputs=("results",),
    version=5,
    main="holds",
    cite="the works whose claims they are: Kovaleva et al. 2019, Prasanna et al. 2020, Merchant et al. 2020, "
    "Ethayarajh 2019, and the slides of Ge and Zhu's course project (CS4650)",
)
def claims(
    results: Sequence[Result | str],
    config: ClaimsConfig = ClaimsConfig(),  # noqa: B008 (frozen)
) -> Result:
    """Which of the papers' claims hold here?

    Each claim is a statement about one number. It holds if the number's whole 95% interval is on the claimed side,
    fails if all of it is on the other, and is underpowered otherwise, or if no interval can be had. What an interval
    over texts decides of one fine-tuned model is decided of this training.
    """
    import pandas as pd

    from bertscope.study.claims.claim import VERDICTS
    from bertscope.study.claims.ledger import judged
    from bertscope.study.claims.summary import statements

    opened = [load_result(one) if isinstance(one, str) else one for one in results]
    (ledger, unread), (summary, unsaid) = judged(opened), statements(opened)
    counts = ledger["verdict"].value_counts()
    sources = list(dict.fromkeys(ledger["source"]))
    counted = pd.DataFrame(
        {"source": source, "verdict": verdict,
         "rows": int(((ledger["source"] == source) & (ledger["verdict"] == verdict)).sum())}
        for source in sources for verdict in VERDICTS
    )  # fmt: skip
    return Result(
        NAME,
        5,
        tables={"ledger": ledger, "summary": summary, "counts": counted},
        headline=[Number(verdict, float(counts.get(verdict, 0)), n=len(ledger)) for verdict in VERDICTS],
        figures=[_figure()],
        subject={"of": f"{len(opened)} result{'s' * (len(opened) != 1)}"},
        notes=[*unread, *unsaid],
    )


def _figure() -> Figure:
    return Figure(
        "bars", "counts", x="rows", y="source", color="verdict", title="Claims and verdicts",
        caption="How many claims of each source hold, fail, are underpowered or not tested; a claim counts once for "
        "each model and task that it was tested on. This training: of one fine-tuned model, over texts.",
        labels={"rows": "claims, each model and task apart", "source": ""},
    )  # fmt: skip


def claims_step(steps: Iterable[Step]) -> Step | None:
    """The step that judges what these steps found; None if no claim is about any of them. The same steps in any order
    give the same ledger."""
    from bertscope.study.claims.ledger import CLAIMS
    from bertscope.study.claims.summary import SENTENCES

    read = {*SENTENCES, *(claim.question for claim in CLAIMS)}
    unique = {step.id: step for step in steps if step.name in read}
    inputs: dict[str, Step | Root] = {f"results.{place}": unique[name] for place, name in enumerate(sorted(unique))}
    return registry.find(NAME).step(inputs) if inputs else None
