"""What the page holds and marks of each answer: tables once, the newest version, the citation, one seed."""

from __future__ import annotations

import re
from dataclasses import replace

import pandas as pd
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine

from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.report.sections import ROWS
from planted_page import ablation, data_of, heads, heat, models, page_of, put


def test_a_table_that_many_figures_draw_is_stored_once(tmp_path):
    figures = [heat(where={"layer": layer}) for layer in (1, 2)]
    put(tmp_path, Result("ablate", 1, {"heads": heads()}, figures=figures))
    (data,) = data_of(page_of(tmp_path))
    assert [(each["table"], each["where"]) for each in data["figures"]] == [("heads", {"layer": n}) for n in (1, 2)]
    assert all(
        each["spec"]["data"] == {"name": "rows"} and "datasets" not in each["spec"] for each in data["figures"]
    )


def test_an_answer_that_a_newer_version_gave_again_is_left_out(tmp_path):
    for version in (2, 1):
        put(tmp_path, Result("ablate", version, {"heads": heads()}, notes=[f"version {version}"]))
    put(tmp_path, Result("ablate", 1, {"heads": heads()}, notes=["other settings"]), seed=5)
    page = page_of(tmp_path)
    assert "version 2" in page and "version 1" not in page and "other settings" in page


def test_one_seed_is_marked_where_it_is_an_experiment_over_seeds(tmp_path):
    put(tmp_path, Result("lottery", 1, models=models()), seeds=[0])
    put(tmp_path, Result("ablate", 1, models=models()), seed=0)
    put(tmp_path, Result("scratch", 1, models=models()), seeds=[0, 1])
    page = page_of(tmp_path)
    assert page.count("illustrative: one seed</span>") == 2  # at a glance, and in its section
    (section,) = re.findall(r'<section id="question-lottery">.*?</section>', page, re.DOTALL)
    assert "illustrative" in section


def test_models_stand_in_the_order_of_their_steps(tmp_path):
    named = [f"tuned, step {step}" for step in ("4", "15", "1,200")]
    for name in reversed(named):
        put(tmp_path, Result("ablate", 1, models=models(name)), model=name)
    (told,) = re.findall(r"<dt>Models</dt><dd>(.*?)</dd>", page_of(tmp_path))
    assert re.findall(r"<bdi>(.*?)</bdi>", told) == named


def test_long_tables_are_cut_on_the_page_and_whole_in_the_csv(tmp_path):
    frame = pd.DataFrame({"row": range(ROWS + 50)})
    put(tmp_path, Result("ablate", 1, {"long": frame}))
    page = page_of(tmp_path)
    said = f"The first {ROWS} rows, as they are sorted; the CSV has all {ROWS + 50}."
    assert said in re.sub("<[^>]+>", "", page)
    (data,) = data_of(page)
    assert data["tables"]["long"]["cells"] == [list(range(ROWS + 50))]


def test_the_citation_is_shown_with_its_link(tmp_path, monkeypatch):
    class Declared:
        main, better, cite = "accuracy", "higher", "Michel et al. 2019, https://arxiv.org/abs/1905.10650"
        version, keeps = 0, ""
        card, row_card, columns, words, numbers, plan = None, (), {}, {}, {}, None

    monkeypatch.setattr("bertscope.core.registry.still_declared", lambda name: Declared)
    put(tmp_path, ablation())
    page = page_of(tmp_path)
    assert 'href="https://arxiv.org/abs/1905.10650"' in page and "higher is better" in page


def test_a_number_without_an_interval_shows_none(tmp_path):
    numbers = [Number("a", 0.5), Number("b", 0.5, float("nan"), float("nan")), Number("c", float("nan"))]
    put(tmp_path, Result("ablate", 1, headline=numbers))
    assert 'class="interval"' not in page_of(tmp_path)


def test_nothing_is_a_zero_however_fine_its_interval(tmp_path):
    put(tmp_path, Result("ablate", 1, headline=[Number("few", 0.0, 0.0, 0.00694), Number("none", -0.01, -0.02, 0.0)]))
    page = page_of(tmp_path)
    assert '<span class="value">0</span>' in page and ">0 to 0.00694<" in page and "−0.0200 to 0<" in page


def test_numbers_have_their_units_and_many_are_a_list(tmp_path):
    numbers = [
        Number("after", 0.8, unit="accuracy"), Number("accuracy", 0.7, unit="accuracy"),
        Number("time", 0.5, unit="x"), Number("weights", 4084475.4),
    ]  # fmt: skip
    put(tmp_path, Result("ablate", 1, headline=numbers))
    page = page_of(tmp_path)
    assert re.search(r'0\.800 <span class="unit">accuracy</span>', page) and "4,084,475" in page
    assert re.search(r'0\.500 <span class="unit">×</span>', page) and '<span class="value">0.700</span>' in page
    assert 'class="more-numbers"' not in page
    put(tmp_path, Result("ablate", 1, headline=[Number(f"number {place}", 0.5) for place in range(9)]), seed=2)
    listed = page_of(tmp_path).split('class="more-numbers"')[1].split("</ul>")[0]
    assert listed.count("<li>") == 5 and "number 4" in listed and "number 3" not in listed


def test_the_first_note_is_open_and_backticks_are_code(tmp_path):
    figure = replace(heat(), caption="See the table `heads`.")
    put(tmp_path, Result("ablate", 1, {"heads": heads()}, figures=[figure], notes=["one", "two"]))
    page = page_of(tmp_path)
    assert "See the table <code>heads</code>." in page and "More notes" not in page.split("one")[0]
    assert page.count('<ul class="note">') == 2  # the first stands open, the others are folded
