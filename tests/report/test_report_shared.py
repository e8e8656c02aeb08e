"""What several answers to a question share: what tells them apart, one scale, numbers side by side, one table."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

pytest.importorskip("altair")  # not on the bare GPU machine

from bertscope.core.figure import Figure
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.report.build import stored_findings
from bertscope.report.multiples import MOST, PANEL
from bertscope.report.row_card import PageRows
from bertscope.report.sections import Section, sections
from bertscope.report.subjects import PageModels
from bertscope.report.told_apart import told_apart
from planted_answers import BASE, answer, curve, lines, store_of_four, tuned
from planted_page import heads, heat, models, page_of, put

SENTIMENT, TOPICS = "demo/sentiment", "demo/topics"


def section_of(store) -> Section:
    findings = stored_findings(store)
    (section,) = sections(findings, PageModels(findings), PageRows(findings, set()))
    return section


def shared(tmp_path, *results: Result):
    """What those share on a page."""
    for place, result in enumerate(results):
        put(tmp_path, result, place=place)
    return section_of(tmp_path).together


def pair(*figures: Figure) -> list[Result]:
    """Two answers with one figure each."""
    both = zip((SENTIMENT, TOPICS), figures, strict=True)
    return [replace(answer(task), figures=[figure]) for task, figure in both]


# What tells them apart


def labels(results, further=None):
    return [one.label for one in told_apart(results, ["one", "other"], further or [""] * len(results))]


def test_answers_are_called_by_what_isnt_the_same():
    one, other = answer(SENTIMENT), answer(TOPICS)
    assert labels([one, other]) == [SENTIMENT, TOPICS]  # that the models were tuned on them says no more
    seeds = [replace(one, subject={"task": SENTIMENT, "seed": seed}) for seed in "01"]
    assert labels(seeds) == ["seed 0", "seed 1"]
    assert labels([one, one], ["frozen none", "frozen 1-2"]) == ["frozen none", "frozen 1-2"]
    plain = [one, replace(one, subject={"task": SENTIMENT, "attention": "norm-weighted"})]
    assert labels(plain) == [SENTIMENT, "attention norm-weighted"]


def test_another_model_is_named_even_where_the_task_tells_them_apart():
    other = replace(answer(TOPICS), models=models("pocket", "minilm"))
    first, second = labels([answer(SENTIMENT), other])
    assert first == f"pocket tuned on {SENTIMENT} · {SENTIMENT}" and second == f"minilm · {TOPICS}"


def test_models_of_other_data_are_told_by_it_where_nothing_else_does():
    results = [replace(answer(task), subject={"task": "demo/corpus"}) for task in (SENTIMENT, TOPICS)]
    assert labels(results) == [f"pocket tuned on {task}" for task in (SENTIMENT, TOPICS)]
    assert labels([answer(), answer()]) == ["one", "other"]  # nothing is left but their whole names


def test_what_was_made_of_a_base_has_one_name_in_all_answers():
    one, other = told_apart([answer(SENTIMENT), answer(TOPICS)], ["", ""], ["", ""])
    assert one.models == {"pocket": "pocket", f"pocket tuned on {SENTIMENT}": "pocket tuned"}
    assert other.words(f"from pocket to pocket tuned on {TOPICS}") == "from pocket to pocket tuned"
    both = replace(answer(), models={one.id: one for one in (tuned(SENTIMENT), tuned(TOPICS))})
    assert all(own == name for own, name in told_apart([both, both], ["", ""], ["a", "b"])[0].models.items())


# Figures


def test_the_colours_reach_as_far_as_the_farthest_answer(tmp_path):
    figure = section_of(store_of_four(tmp_path)).together.figures[0]
    colours = figure.shared["spec"]["spec"]["layer"][0]["encoding"]["color"]["scale"]
    assert colours["domain"] == [-0.4, 0.4]  # 0.1, 0.2, 0.3, 0.4
    assert [answer for _, answer in figure.shared["panels"]] == [part["answer"] for part in figure.shared["parts"]]
    assert [name for name, _ in figure.shared["panels"]] == [
        f"{task} · seed {seed}" for task in (SENTIMENT, TOPICS) for seed in (1, 2)
    ]


def test_figures_of_the_tuned_model_are_one_though_its_name_isnt(tmp_path):
    titles = [one.picture.title for one in section_of(store_of_four(tmp_path)).together.figures]
    assert titles == ["One head off", "Score by step", "Score by step of pocket tuned"]


def test_a_figure_with_panels_of_its_own_has_one_for_each_of_them_and_each_answer(tmp_path):
    figure = lines(color=None, facet="checkpoint")
    (one,) = shared(tmp_path, *pair(figure, figure)).figures
    assert [name for name, _ in one.shared["panels"]] == [
        f"{task} · {model}" for model in ("pocket", "pocket tuned") for task in (SENTIMENT, TOPICS)
    ]
    assert one.picture.reserved["heading"] == [36] * 4 and one.shared["spec"]["spec"]["width"] == PANEL


@pytest.mark.parametrize("other", [
    lines(key="another"), lines(color=None), lines(title="Otherwise"), lines(middle=0.5), lines(key=""),
])  # fmt: skip
def test_what_isnt_the_same_figure_isnt_put_on_one_scale(tmp_path, other):
    assert shared(tmp_path, *pair(lines(), other)).figures == []


def test_what_needs_room_isnt_made_small(tmp_path):
    points = replace(lines(color=None), kind="points")
    assert len(shared(tmp_path / "plain", *pair(points, points)).figures) == 1
    for place, figure in enumerate((replace(points, token="checkpoint"), replace(points, step="step"))):
        assert shared(tmp_path / str(place), *pair(figure, figure)).figures == []
    many = [replace(answer(), subject={"task": SENTIMENT, "seed": str(seed)}) for seed in range(MOST + 1)]
    assert shared(tmp_path / "many", *many).figures == []


def test_reference_values_of_one_answer_arent_drawn_over_another(tmp_path):
    both = [lines(rules={"majority": 0.3}), lines(rules={"majority": 0.6})]
    (one,) = shared(tmp_path, *pair(*both)).figures
    assert "majority" not in str(one.shared["spec"]) and "Reference values are drawn in each" in one.picture.caption


def test_what_has_no_room_along_an_axis_is_said_below(tmp_path):
    both = [lines(labels={"score": f"a rather long name of a score: the {metric}"}) for metric in ("F1", "accuracy")]
    (one,) = shared(tmp_path, *pair(*both)).figures
    said = "a rather long name of a score: the F1 / accuracy"
    assert f"Along the side: {said}. How it goes." == one.picture.caption
    assert "Across" not in one.picture.caption and all(
        layer["encoding"]["y"].get("title") is None for layer in one.shared["spec"]["spec"]["layer"]
    )


# Numbers


def test_numbers_stand_side_by_side_with_their_intervals(tmp_path):
    together = section_of(store_of_four(tmp_path)).together
    score, worst = together.numbers
    assert (score.name, score.unit) == ("score", "accuracy")
    assert [cell.card.value for cell in score.cells] == ["0.600", "0.700", "0.800", "0.900"]
    assert {cell.card.interval for cell in score.cells} == {"0.500 to 1.000"}
    # What of a name isn't the same in all stands beside the value.
    assert worst.name == "worst head" and [cell.further for cell in worst.cells] == [f"(1.{n})" for n in range(1, 5)]
    page = re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", page_of(tmp_path)))
    assert "demo/topics · seed 2 0.900 0.500 to 1.000" in page


def test_a_number_that_an_answer_lacks_is_left_open_and_units_that_differ_stand_with_each(tmp_path):
    numbers = [[Number("score", 0.5, unit="accuracy")], [Number("score", 0.6, unit="f1"), Number("more", 1)],
               [Number("more", 2)]]  # fmt: skip
    results = [replace(answer(), subject={"task": str(place)}, headline=each) for place, each in enumerate(numbers)]
    score, more = shared(tmp_path, *results).numbers
    assert score.unit == "" and [cell and cell.card.unit for cell in score.cells] == ["accuracy", "f1", None]
    assert [cell and cell.card.value for cell in more.cells] == [None, "1", "2"]


def test_numbers_of_several_arms_are_matched_by_the_arm_and_of_models_by_their_place(tmp_path):
    def arms(task, *names):
        of = [Number("score", 0.1 * (place + 1), of={"arm": name}) for place, name in enumerate(names)]
        both = enumerate((BASE.id, tuned(task).id))
        own = [Number("share", 0.5 + place / 10, of={"model": one}) for place, one in both]
        return replace(answer(task), headline=of + own)

    together = shared(tmp_path, arms(SENTIMENT, "good", "bad"), arms(TOPICS, "bad", "good"))
    found = {one.name: [cell.card.value for cell in one.cells] for one in together.numbers + together.more_numbers}
    assert found["score, good"] == ["0.100", "0.200"] and found["score, bad"] == ["0.200", "0.100"]
    assert found["share, pocket"] == ["0.500", "0.500"] and found["share, pocket tuned"] == ["0.600", "0.600"]


# What stands on the page


def test_one_answer_or_nothing_shared_stands_as_it_did(tmp_path):
    assert shared(tmp_path / "one", answer()) is None
    apart = [Result("made-up", 1, {name: heads()}, headline=[Number(name, 1)], figures=[replace(heat(), table=name)],
                    models=models(), subject={"task": name}) for name in ("a", "b")]  # fmt: skip
    assert shared(tmp_path / "two", *apart) is None
    assert "side-by-side" not in page_of(tmp_path / "two").split("<main")[1]


def test_each_table_is_packed_once_and_printed_once_for_all(tmp_path):
    page = page_of(store_of_four(tmp_path)).split("<main")[1]
    assert page.count('<details class="table"') == 2 and page.count('-data">') == 4 + 1
    section = section_of(tmp_path)
    assert [(table.name, table.total) for table in section.together.tables] == [("heads", 24), ("curve", 24)]
    kept = replace(answer(), tables={"own": curve(0.1, "a")} | answer().tables, subject={"task": "other"})
    put(tmp_path, kept, seed=3)
    page = page_of(tmp_path).split("<main")[1]
    assert page.count('<details class="table"') == 3 and page.count('data-table="own"') == 1


def test_the_first_answer_stands_open_where_its_figure_isnt_side_by_side(tmp_path):
    assert section_of(store_of_four(tmp_path)).together.leads
    points = replace(lines(color=None), kind="points", token="checkpoint", key="words")
    results = [replace(one, figures=[points, *one.figures]) for one in (answer(SENTIMENT), answer(TOPICS))]
    together = shared(tmp_path / "words", *results)
    assert not together.leads and together.open_figures == [] and len(together.more_figures) == 3
    page = page_of(tmp_path / "words").split('<section id="question-made-up"')[1]
    assert re.search(r"</div>\s*<article", page) and page.count('<details class="part further"') == 1


def test_tables_without_rows_and_columns_that_one_lacks_do_no_harm(tmp_path):
    other = answer(TOPICS)
    other.tables["heads"] = other.tables["heads"].assign(further=1.5)
    other.tables["curve"] = other.tables["curve"].iloc[:0]
    together = shared(tmp_path, answer(SENTIMENT), other)
    assert [one.picture.title for one in together.figures] == ["One head off"]
    assert together.figures[0].shared["columns"] == ["layer", "head", "effect", "low", "high", "further", "answer"]
    assert [table.total for table in together.tables] == [12, 6]
