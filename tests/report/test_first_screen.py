"""The first screen: planted results give the right sentences and only those, named as the page may name them."""

from __future__ import annotations

import re
from dataclasses import replace

import pandas as pd
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine

from bertscope.core.calibration import COOLEST, HOTTEST
from bertscope.core.consequence import Consequence, next_command, ranked, spoken_of
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars, Cells, Line
from bertscope.core.step import Root
from bertscope.core.subject import subject_of
from bertscope.report.finding import Finding
from bertscope.report.first_screen import first_screen, in_lines
from bertscope.report.small_pictures import WIDTH, drawn
from bertscope.report.subjects import PageModels
from planted_consequences import RANDOM, TASK, TUNED, ablate, errors, finding, training, tuned


def said(*findings: Finding) -> dict[str, str]:
    subject = subject_of(findings)
    return {one.theme: one.text for one, _ in subject.says(findings)} if subject else {}


def html(*findings: Finding) -> str:
    found = first_screen(findings, PageModels(findings))
    return str(found[2]) if found else ""


def commands(page: str) -> list[str]:
    return [re.sub("<[^>]*>", "", found) for found in re.findall("<code>(bertscope .*?)</code>", page)]


def test_a_failing_class_and_what_is_needed_are_said_and_nothing_else():
    told = said(errors(failing="negative"), ablate("head", (2, 3)))
    assert set(told) == {"works", "fails", "needs"}
    assert told["works"].startswith("It works: 90 of 100 right")
    assert "texts labelled negative: 60 of 100 right, against 90 of 100 on other texts" in told["fails"]
    assert (
        "It needs 2 of its 4 attention heads (the parts that let words look at each other). Head 1.3 matters most: "
        "without it the score falls by 15.0 points. Switching off any one of the other 2 does no harm"
        in told["needs"]
    )


def test_groups_that_fail_worse_but_are_rarer_are_named_too():
    failing = errors(failing="negative")
    table = failing.result.tables["slices"]
    rare = pd.concat([table, table.assign(kind="word", slice="“but”", n=10, inside=0.2, difference=-0.7)])
    failing.result.tables["slices"] = rare.reset_index(drop=True)
    told = said(failing)["fails"]
    assert told.startswith("It fails most on texts labelled negative: 60 of 100 right")
    assert told.endswith("It also fails more on texts with “but” (20 of 100).")


def test_a_sentence_offers_no_command_that_was_given_already():
    table = pd.DataFrame({"reading": "shortcut", "layer": [1, 2, 3], "score": [0.5, 0.9, 0.9]})
    read = finding("readout", {"layers": table}, [Number("there", 2.0, of={"reading": "shortcut", "share": "90%"})])
    offered = "bertscope truncate pocket --on demo/sentiment"
    assert offered in commands(html(read, errors()))
    arms = pd.DataFrame({"arm": ["whole", "top"], "removed": [0, 1], "from_top": True, "score": [0.9, 0.8],
                         "effect": [0.0, -0.1], "effect_low": [0.0, -0.2], "effect_high": [0.0, -0.05]})  # fmt: skip
    page = html(read, errors(), finding("truncate", {"arms": arms}, []))
    assert offered not in commands(page) and "after 2 of its 3 layers" in page


def test_contrastive_training_is_told_with_what_does_better_without_it():
    table = pd.DataFrame({"arm": ["before", "contrastive"] * 2, "pool": ["cls"] * 2 + ["mean"] * 2,
                          "spearman": [0.30, 0.39, 0.47, 0.46]})  # fmt: skip
    scores = [Number("spearman", 0.30, of={"arm": "before"}), Number("spearman", 0.39, of={"arm": "contrastive"}),
              Number("spearman_difference", 0.09, 0.04, 0.15, unit="cls vectors",
                     of={"arm": "contrastive", "against": "before"})]  # fmt: skip
    told = said(finding("contrast", {"sts": table}, scores))["changed"]
    assert "its mean vectors do better still: 0.47, not 0.39" in told
    table["spearman"] = [0.30, 0.49, 0.47, 0.46]
    scores[1] = replace(scores[1], value=0.49)
    assert "better still" not in said(finding("contrast", {"sts": table}, scores))["changed"]


def test_a_useless_layer_is_said_to_be_open_where_nothing_else_is_certain():
    told = said(ablate("layer", ()))
    assert set(told) == {"needs"} and "is open" in told["needs"]
    told = said(ablate("layer", ()), ablate("head", (1,)))
    assert "It needs 1 of its 4 attention heads (the parts" in told["needs"]  # what is certain comes first


def test_of_a_model_at_chance_nothing_is_said_in_points_of_its_score():
    findings = errors(0.51, failing="negative"), ablate("head", (2,))
    assert set(said(*findings)) == {"works"} and "is open" in said(*findings)["works"]
    page = html(*findings)
    assert ">open</span>" in page and "bertscope finetune pocket --on demo/sentiment" in commands(page)


def test_of_a_model_at_chance_nothing_is_said_of_what_it_learnt():
    rows = [{"kind": "layer", "direction": "needed", "layer": at, "share": 0.1 * at, "certain": at == 2, "unit": at}
            for at in (1, 2)]  # fmt: skip
    grafted = finding("graft", {"grafts": pd.DataFrame(rows)}, [])
    assert said(errors(), grafted)["changed"].startswith("What it learnt is certain to live in 1 of its 2 layers")
    assert set(said(errors(0.51), grafted)) == {"works"}


def test_a_temperature_is_a_remedy_only_where_it_turns_the_right_way():
    def told(over: float, temperature: float) -> str:
        found = errors()
        numbers = [Number("overconfidence", over, over - 0.05, over + 0.05), Number("right", 0.9),
                   Number("temperature", temperature)]  # fmt: skip
        bins = pd.DataFrame({"series": ["model"], "n": [400], "confidence": [0.9 + over], "share": [0.9]})
        more = replace(found.result, headline=[*found.result.headline, *numbers],
                       tables=found.result.tables | {"reliability": bins})  # fmt: skip
        return said(replace(found, result=more))["fails"]

    assert told(0.2, 1.5).endswith("20.0 points higher than its share of right answers. To mend that, divide its "
                                   "raw scores (logits) by 1.50.")  # fmt: skip
    assert told(-0.2, 0.5).endswith("(logits) by 0.50.")
    # Validation says otherwise than test: what fits the one would make the other worse.
    assert told(0.2, 0.8).endswith("points higher than its share of right answers.")
    assert told(-0.2, 1.1).endswith("points lower than its share of right answers.")
    # The ends of where one is looked for: none fits.
    assert told(0.2, HOTTEST).endswith("points higher than its share of right answers.")
    assert told(-0.2, COOLEST).endswith("points lower than its share of right answers.")


def test_random_weights_claim_nothing_certain():
    assert said(errors(model=RANDOM, failing="negative"), ablate("head", (2,), RANDOM)) == {}
    undecided = errors(0.5, model=RANDOM), ablate("layer", (), RANDOM)
    assert set(said(*undecided)) == {"works"} and "Its weights are random" in html(*undecided)
    beside = replace(errors().result, models={TUNED.id: TUNED, RANDOM.id: RANDOM})
    assert spoken_of(beside) == TUNED.id  # a control that was measured beside it isn't what is spoken of


def test_control_trainings_and_arms_say_nothing_of_the_model():
    control, arm = training(0.5, init="random"), training(0.55, frozen="encoder")
    shorter = tuned("s", removed="12")
    others = control, arm, errors(0.5, model=shorter), ablate("head", (4,), shorter)
    told = said(errors(), ablate("head", (2,)), errors(0.9, seed=1), *others)
    assert told["works"].startswith("It works") and "Head 1.2 matters most" in told["needs"]
    assert "failed" not in " ".join(told.values())


def test_the_training_that_made_it_is_told_and_another_isnt():
    made, other = training(0.5, seed=0), training(0.95, seed=1)
    model = tuned("m", source=f"/x/store/steps/{made.step.id}/model")
    assert said(made, other, ablate("head", (), model))["works"].startswith("The training failed")
    assert said(training(0.9))["works"].startswith("The training worked")  # nothing but a training of the base


def test_a_result_of_another_version_or_without_its_tables_says_nothing():
    old = errors()
    assert said(replace(old, result=replace(old.result, version=99))) == {}
    assert said(replace(old, result=replace(old.result, headline=[]))) == {}


def test_commands_name_models_as_the_page_may():
    (line,) = commands(html(errors()))
    assert line == "bertscope shrink t-model --on demo/sentiment"  # no path of somebody's home
    (line,) = commands(html(errors(private=True)))
    assert line == "bertscope shrink /home/jo/t-model --on demo/sentiment"
    stored = tuned("m", source="/home/jo/my-store/steps/finetune-0123/model")
    (line,) = commands(html(errors(model=stored)))
    assert line == "bertscope shrink my-store/steps/finetune-0123/model --on demo/sentiment"
    odd = tuned("o", source="runs/my model")
    (line,) = commands(html(errors(model=odd)))
    assert "shrink &#39;runs/my model&#39; --on" in line  # as a shell takes it


def test_commands_name_data_as_it_was_read():
    """Copied, they must work: the file with its ending, and its columns; not where it lies, nor how few rows a
    question was asked of."""
    one = errors()
    for path in ("/home/jo/reviews.csv", "reviews.csv"):
        steps = [
            replace(one.step, inputs={**one.step.inputs, "task": Root("task", path, "1" * 16, options)})
            for options in ({"label": "opinion", "limit": 200}, {"label": "my opinion", "root": "/home/jo"})
        ]
        result = replace(one.result, subject={"task": "reviews"})
        (line,) = commands(html(*(replace(one, step=step, result=result) for step in steps)))
        assert line == "bertscope shrink t-model --on reviews.csv --label &#39;my opinion&#39;"


def test_the_terminal_has_the_same_sentences():
    findings = errors(failing="negative"), ablate("head", (2, 3))
    lines = in_lines(findings)
    assert lines[0] == f"pocket tuned on {TASK}" and lines[-1].startswith("  What to do next: bertscope ")
    assert [line for line in lines if "Where does it fail? It fails on texts labelled negative" in line]
    assert in_lines([replace(errors(), result=Result("states", 1))]) == []


def test_hostile_texts_stay_text_and_pictures_have_words():
    page = html(errors(failing="</p><script>alert(1)</script>"), ablate("head", (2,)))
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert page.count('role="img"') == page.count("<svg") == 3
    assert 'aria-label="it 90, same answer 50"' in page and "marked: 2" in page


def test_the_link_leads_to_the_figure_where_there_is_one():
    one, other = ablate("head", (2,)), errors()
    page = html(one, other)
    assert f'href="#{one.step.id}-head"' in page and f'href="#{other.step.id}"' in page


def test_what_to_do_next_is_no_question_that_was_asked():
    costs = Consequence("price", "x.", 0.5, command="bertscope shrink {model} --on {data}")
    assert next_command([costs], ()) == costs.command
    assert next_command([costs], {"shrink"}).startswith("bertscope errors")
    writes = replace(costs, command="bertscope shrink {model} --on {data} --out smaller")
    assert next_command([writes], {"shrink"}) == writes.command  # nothing was written yet
    rest = {"errors", "shrink", "ablate", "structure", "explain"}
    assert next_command([], rest).startswith("bertscope graft") and next_command([], rest, has_base=False) == ""


def test_equal_weights_are_ranked_by_what_can_be_done():
    plain, able = Consequence("price", "a.", 0.5), Consequence("price", "b.", 0.5, command="bertscope x")
    assert ranked([plain, able]) == [able]
    lost = Consequence("works", "c.", 0.5, at_chance=True)
    assert ranked([plain, lost, Consequence("knows", "d.", 0.1)]) == [lost, Consequence("knows", "d.", 0.1)]
    idle = Consequence("looks", "e.", 0.9, of_skill=True)  # what random weights look at is nothing to know
    assert ranked([lost, idle, Consequence("looks", "f.", 0.1)]) == [lost, Consequence("looks", "f.", 0.1)]
    assert ranked([idle]) == [idle]


def test_small_pictures_have_the_right_lengths():
    bars = str(drawn(Bars.of({"it": Number("x", 0.5, 0.25, 0.75), "other": 1.0}, most=1.0)))
    assert f'width="{WIDTH / 2:.1f}"' in bars and f'x1="{WIDTH / 4:.1f}" x2="{3 * WIDTH / 4:.1f}"' in bars
    cells = str(drawn(Cells(((0.0, -2.0), (1.0, float("nan"))), ((1, 0),), "layer", "head", both_ways=True)))
    levels = re.findall(r'class="([^"]*)"[^>]*--level: ([\d.]+)', cells)
    assert levels == [("cell", "0.00"), ("cell against", "1.00"), ("cell", "0.00"), ("cell marked", "0.50")]
    line = str(drawn(Line((1, 2, 3), (0.0, 1.0, float("nan")), rule=0.5, marked=2.0, along="layer")))
    assert "nan" not in line and '<circle class="point"' in line and "a curve over layer from 1 to 3" in line
