"""How often a claim is said to hold that doesn't: on its bound at most in one of forty, and well off it mostly."""

from __future__ import annotations

import pytest
from scipy.stats import binom

from error_rates import BEGIN, NOISE, OFF, ON, PAGE, SIMULATED, Noise, verdicts
from error_rates import _grafts as grafts
from error_rates import _lottery as lottery
from error_rates import _parts as parts
from error_rates import _scratch as scratch

LEVEL = 0.025


def most(repeats: int) -> int:
    """How often an error of that level is seen at most, 999 times of 1,000."""
    return int(binom.ppf(0.999, repeats, LEVEL))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("simulated", "claim", "noise", "repeats"),
    [
        (lottery, "m-good-reaches-full", NOISE["alike"], 25),  # a share of the skill, below
        (lottery, "m-random-worse", NOISE["failing"], 25),  # above 0
        (scratch, "pretraining-gives", NOISE["unlike"], 40),
        (parts, "no-head-is-needed", Noise(0.0), 60),  # the worst of many, of one model
        (grafts, "last-two-layers-carry", NOISE["unlike"], 40),  # a share of a gain
    ],
)
def test_what_lies_on_the_bound_is_rarely_said_to_hold(simulated, claim, noise, repeats):
    found = verdicts(simulated, ON, noise, repeats, [claim])[claim]
    assert found.total() == repeats and found["holds"] <= most(repeats)
    assert found["not_tested"] == 0


@pytest.mark.parametrize(("simulated", "claim"), [
    (scratch, "pretraining-gives"), (parts, "no-head-is-needed"), (grafts, "last-two-layers-carry")
])  # fmt: skip
def test_what_lies_well_off_the_bound_is_mostly_found(simulated, claim):
    noise = Noise(0.0) if simulated is parts else NOISE["alike"]
    found = verdicts(simulated, OFF, noise, 20, [claim])[claim]
    assert found["holds"] >= 15 and found["fails"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", NOISE)
def test_no_claim_of_the_table_errs_more_often_than_it_says(kind):
    for simulated, claims in SIMULATED.items():
        found = verdicts(simulated, ON, NOISE[kind], 200)
        assert {claim: found[claim]["holds"] for claim in claims if found[claim]["holds"] > most(200)} == {}


def test_the_docs_have_the_table():
    """With every claim that is simulated; `tests/support/error_rates.py` writes it."""
    written = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2]
    assert all(f"| `{claim}` |" in written for claims in SIMULATED.values() for claim in claims)
