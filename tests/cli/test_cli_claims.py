"""What `bertscope claims` prints: of each paper what was tested first, and what it would take to test the rest."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bertscope.cli.claims import _print
from bertscope.study.claims.result import claims_result

_TESTED = {
    "verdict": "holds", "effect": 0.3, "low": 0.1, "high": 0.5, "at": 0.0, "asks": ">", "about": "pocket on toy",
}  # fmt: skip
_NOT = {
    "verdict": "not_tested",
    "effect": np.nan,
    "low": np.nan,
    "high": np.nan,
    "at": np.nan,
    "asks": "",
    "about": "",
}


def test_what_was_tested_stands_first_under_its_paper(capsys):
    rows = [
        {"source": source, "cite": cite, "says": says, "effect_is": "it", "share": np.nan, "published": np.nan,
         "why": "", "earlier": 0, "command": "bertscope x"} | found
        for source, cite, says, found in [
            ("a", "A 2019", "A says one.", _NOT), ("a", "A 2019", "A says two.", _TESTED),
            ("b", "B 2020", "B says three.", _NOT),
        ]
    ]  # fmt: skip
    _print(claims_result(pd.DataFrame(rows), pd.DataFrame({"of": []}), 1, []))
    lines = capsys.readouterr().out.splitlines()
    said = [line.strip().partition(" (")[0] for line in lines if " says " in line]
    assert said == ["A says two.", "A says one.", "B says three."]
    assert lines.index("A 2019") < lines.index("  A says two. (it)") < lines.index("B 2020")
    assert lines[-1].startswith("1 holds; ") and lines[-1].endswith("2 not tested")
