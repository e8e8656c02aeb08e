"""The null panel is shown where the p-values are, and marked where it fails: on the page and in the terminal."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from bertscope.cli.answer import print_answer
from bertscope.core.null_panel import panel, verdict
from bertscope.core.number import Number
from bertscope.core.registry import find
from bertscope.core.result import Result
from bertscope.report.columns import OF_NULL, explained
from planted_page import ablation, page_of, put


def judged(findings: int, draws: int = 200) -> Result:
    """An answer whose two families of tests found something in so many draws of nothing, and in none."""
    found = {"head": np.arange(draws) < findings, "mlp": np.zeros(draws)}
    made = ablation()
    tables = {**made.tables, "null": panel(found, ["kind"])}
    return find("ablate").result(
        tables=tables, figures=made.figures, models=made.models, subject=made.subject, notes=["another note"],
        headline=[Number("score", 0.8, 0.7, 0.9, 100)],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("findings", "draws", "said"), [(19, 200, "passes"), (20, 200, "fails"), (19, 20, "undecided")]
)
def test_it_stands_before_the_figures_and_is_marked_where_it_fails(tmp_path, findings, draws, said):
    result = judged(findings, draws)
    put(tmp_path, result)
    page = page_of(tmp_path)
    start, figure = page.index(f'<div class="null {said}">'), page.index("<figure>")
    assert page.index('class="cards"') < start < figure, "beside the numbers, not among folded tables"
    shown = page[start:figure]
    assert ("too small" in shown) == (said == "fails")
    panel = page[figure : page.index("</article>", figure)].partition("Null panel</summary>")[2]
    shown = panel.partition("</details>")[0]  # its table is folded
    assert re.findall(r"<th[^>]*>(\w+)</th>", shown) == list(result.tables["null"].columns)
    assert re.findall(r"<td>(.*?)</td>", shown)[1:4] == [str(draws), str(findings), str({200: 19, 20: 4}[draws])]
    assert page.count("null panel fails</span>") == (2 if said == "fails" else 0), "at a glance, and over the answer"
    assert page.count("ull panel: ") == 1 and "another note" in page, "said once"


def test_an_answer_without_one_says_nothing_of_it(tmp_path):
    put(tmp_path, ablation())
    assert 'class="null' not in page_of(tmp_path)


def test_one_family_that_fails_is_enough_whatever_the_others_say():
    found = {"few": np.ones(20), "many": np.ones(200)}
    assert verdict(Result("ablate", 1, {"null": panel(found)})) == "fails"
    assert verdict(Result("ablate", 1, {"null": panel({"few": np.ones(20)})})) == "undecided"
    assert verdict(Result("ablate", 1)) == ""


def test_its_columns_are_explained_and_others_of_the_same_name_are_not():
    assert explained("null", ["tests", "draws", "findings", "quantile", "passes"], []) == OF_NULL
    assert explained("sizes", ["tests", "draws"], []) == {}


def test_a_terminal_says_it_before_other_notes(capsys):
    print_answer(judged(20))
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note: ")]
    assert [note[:22] for note in notes] == ["note: null panel: FAIL", "note: another note"]


def test_a_stored_panel_says_the_same(tmp_path):
    stored = Result.load(judged(20).save(tmp_path / "result"))
    assert verdict(stored) == "fails"
    pd.testing.assert_series_equal(stored.tables["null"]["passes"], judged(20).tables["null"]["passes"])
