"""The null panel: the quantiles that methods.md names, and what a panel that fails says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from bertscope.core.null_panel import LEVEL, fails, in_words, most, panel
from bertscope.core.result import Result


@pytest.mark.parametrize(
    ("draws", "families", "allowed"),
    [(200, 1, 18), (100, 1, 11), (50, 1, 7), (200, 2, 19), (200, 8, 20), (200, 28, 22)],
)
def test_quantiles(draws, families, allowed):
    assert most(draws, families) == allowed


@pytest.mark.parametrize("families", [1, 8, 28])
def test_a_sound_panel_fails_in_one_case_of_a_hundred_however_many_families_it_has(families):
    """Of tests that find something in one draw of twenty; counted, and by the binomial of scipy."""
    found = np.random.default_rng(0).random((300, families, 200)) < LEVEL
    panels = [panel(dict(enumerate(each))) for each in found]
    failed = sum(fails(Result("ablate", 1, tables={"null": table})) for table in panels)
    assert failed <= binom.ppf(0.99, len(panels), 0.01)
    (allowed,) = set(panels[0]["quantile"])
    by_chance = 1 - binom.cdf([allowed, allowed - 1], 200, LEVEL) ** families
    assert by_chance[0] <= 0.01 < by_chance[1], "and no more is allowed than that takes"


def _result(*findings: int, draws: int = 200) -> Result:
    found = {f"kind {at}": np.arange(draws) < count for at, count in enumerate(findings)}
    return Result("ablate", 1, tables={"null": panel(found, ["kind"])})


def test_a_panel_counts_draws_with_any_finding():
    table = panel({("a", "head"): np.array([0, 3, 0, 1] * 25)}, ["checkpoint", "kind"])
    assert table.to_dict("records") == [
        {"checkpoint": "a", "kind": "head", "draws": 100, "findings": 50, "quantile": 11, "passes": False}
    ]


def test_fails_if_any_family_does():
    assert not fails(_result(19, 0))
    assert fails(_result(0, 20)) and fails(_result(19))
    assert not fails(Result("ablate", 1))
    assert in_words(Result("ablate", 1)) == ""
    assert "FAILS" in in_words(_result(0, 20))
    assert "20 of 200 draws (up to 19 may be)" in in_words(_result(0, 20))
    assert "passes" in in_words(_result(19, 3))


def test_under_fifty_draws_nothing_is_decided():
    result = _result(20, draws=20)
    assert not fails(result)
    assert "too few draws" in in_words(result)
