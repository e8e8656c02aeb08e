"""The null panel: the quantiles that methods.md names, and what a panel that fails says."""

from __future__ import annotations

import numpy as np
import pytest

from bertscope.core.null_panel import fails, in_words, most, panel
from bertscope.core.result import Result


@pytest.mark.parametrize(("draws", "allowed"), [(200, 18), (100, 11), (50, 7)])
def test_quantiles(draws, allowed):
    assert most(draws) == allowed


def _result(*findings: int, draws: int = 200) -> Result:
    found = {f"kind {at}": np.arange(draws) < count for at, count in enumerate(findings)}
    return Result("ablate", 1, tables={"null": panel(found, ["kind"])})


def test_a_panel_counts_draws_with_any_finding():
    table = panel({("a", "head"): np.array([0, 3, 0, 1] * 25)}, ["checkpoint", "kind"])
    assert table.to_dict("records") == [
        {"checkpoint": "a", "kind": "head", "draws": 100, "findings": 50, "quantile": 11, "passes": False}
    ]


def test_fails_if_any_family_does():
    assert not fails(_result(18, 0))
    assert fails(_result(0, 19))
    assert not fails(Result("ablate", 1))
    assert in_words(Result("ablate", 1)) == ""
    assert "FAILS" in in_words(_result(0, 19))
    assert "19 of 200" in in_words(_result(0, 19))
    assert "passes" in in_words(_result(18, 3))


def test_under_fifty_draws_nothing_is_decided():
    result = _result(20, draws=20)
    assert not fails(result)
    assert "too few draws" in in_words(result)
