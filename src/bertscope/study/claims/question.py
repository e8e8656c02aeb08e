"""`claims`: what the source works say, checked against everything that is stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bertscope.core import registry
from bertscope.core.question import RESULTS, Question
from bertscope.core.step import Root, Step

VERDICT_WORDS = {
    "holds": "holds",
    "holds_this_training": "holds, this training",
    "fails": "fails",
    "fails_this_training": "fails, this training",
    "underpowered": "underpowered",
    "not_tested": "not tested",
}
"""What the verdicts are called: in the ledger, and as numbers that say how many there are of each."""

NULL_WORDS = {"passed": "passed", "failed": "failed", "undecided": "too few draws", "not_asked": "not asked"}
"""What the null panel says of the result that a row is read off; nothing where a question has no p-values."""


@dataclass(frozen=True)
class ClaimsConfig:
    """Nothing to choose: every claim is looked at."""


claims = Question(
    __name__,
    """Each claim is a statement about one number. It holds if the number's whole 95% interval is on the claimed
    side, fails if all of it is on the other, and is underpowered otherwise, or if there is no interval. A claim
    decided by an interval over texts of one fine-tuned model is decided for this training only. Each claim also
    says what must be so for a number to be evidence, such as which model was made from which; that is checked
    first.""",
    config=ClaimsConfig,
    inputs={"results": RESULTS},
    version=11,
    main="holds",
    numbers=VERDICT_WORDS,
    words={"verdict": VERDICT_WORDS, "null": NULL_WORDS},
    cite="the works whose claims they are: Kovaleva et al. 2019, Prasanna et al. 2020, Merchant et al. 2020, "
    "Ethayarajh 2019, and the slides of Ge and Zhu's course project (CS4650)",
)


def told() -> list[str]:
    """The questions whose results are told in a sentence, in the catalogue's order."""
    return [name for name, entry in registry.QUESTIONS.items() if entry.group and registry.find(name).compared]


def questions_read() -> set[str]:
    """The questions whose answers a ledger reads."""
    from bertscope.study.claims.records import CLAIMS

    return {*told(), *(claim.question for claim in CLAIMS)}


def claims_step(steps: Iterable[Step], beside: Iterable[Root] = ()) -> Step | None:
    """The step that judges what these steps found, and results that lie elsewhere; None if no claim is about any of
    them. The same steps in any order give the same ledger."""
    read = questions_read()
    found: dict[str, Step | Root] = {step.id: step for step in steps if step.name in read}
    found |= {root.id: root for root in beside}
    inputs = {f"results.{place}": found[name] for place, name in enumerate(sorted(found))}
    return claims.step(inputs) if inputs else None
