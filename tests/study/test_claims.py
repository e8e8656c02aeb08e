"""Claims and their ledger: every claim on a result in which the truth is known; what is told, stored and left out."""

from __future__ import annotations

import inspect
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bertscope.core.model_record import ModelRecord
from bertscope.core.number import Number
from bertscope.core.registry import QUESTIONS, find, resolve
from bertscope.core.result import Result
from bertscope.core.statement import percent, points, sure
from bertscope.core.step import Root, Step
from bertscope.study.claims.measure import judged
from bertscope.study.claims.question import claims, claims_step, told
from bertscope.study.claims.records import CLAIMS, published
from bertscope.study.claims.records.claim import OF_ONE_TRAINING, VERDICTS, Estimate, Published
from judging import BY_ID, bound, one_row
from planted_claims import PLANTED
from planted_parts import compared, retrained, shapes
from planted_results import SURE
from planted_trainings import scratch, truncate

# The records


WHOLE = {"last-two-layers-most": 1.0}
"""Effects that aren't free: ranks are whole numbers."""
UNDECIDED = {"heads-can-go": 2 / 3}
ONE_TRAINING = {
    "vertical-grows", "last-two-layers-most", "last-two-layers-more", "most-heads-unchanged", "no-feature-gains",
    "top-layers-move-most", "elsewhere-moves-less", "parsing-moves-deeper", "trees-are-kept", "knowledge-is-kept",
    "last-two-layers-carry", "top-layers-carry",
}  # fmt: skip
"""What a fine-tuning did, of which the planted results have one."""


def test_every_claim_has_a_planted_result():
    assert set(PLANTED) == set(BY_ID) and len(BY_ID) == len(CLAIMS)


@pytest.mark.parametrize("claim_id", sorted(PLANTED))
def test_a_claim_that_is_true_holds_and_one_that_is_false_fails(claim_id):
    claim, at = BY_ID[claim_id], bound(claim_id)
    step = 1.0 if claim.unit == "rank" else 0.05
    below, above = at - step, at + step
    true, false = (above, below) if claim.asks.side.startswith(">") else (below, above)
    for value, verdict in ((true, "holds"), (false, "fails")):
        row = one_row(claim_id, PLANTED[claim_id](value, SURE))
        assert row["verdict"] == (OF_ONE_TRAINING[verdict] if claim_id in ONE_TRAINING else verdict)
        assert row["why"] == "" and ("of one training" in row["over"]) == (claim_id in ONE_TRAINING)
        if claim_id not in WHOLE:
            assert row["effect"] == pytest.approx(value, abs=1e-3)
        assert row["at"] == pytest.approx(at) and row["low"] <= row["effect"] + 1e-9 <= row["high"] + 2e-9


@pytest.mark.parametrize("claim_id", sorted(PLANTED))
def test_a_wide_interval_decides_nothing(claim_id):
    at = UNDECIDED.get(claim_id, bound(claim_id))
    row = one_row(claim_id, PLANTED[claim_id](at, 2.0 if BY_ID[claim_id].unit == "rank" else 0.3))
    assert row["verdict"] == "underpowered" and row["why"] == "the interval reaches to both sides"
    assert row["low"] < bound(claim_id) < row["high"]


@pytest.mark.parametrize(
    ("claim_id", "planted"),
    [
        ("m-good-reaches-full", retrained("m", "good", runs=1)),
        ("s-random-as-good", compared("s", "good", "random", runs=4)),
        ("pretraining-gives", scratch("pretraining", runs=1)),
        ("top-layer-costs-nothing", lambda value, reach: truncate(value, reach, runs=3)),
        ("survivors-not-meaningful", lambda value, reach: shapes(value, reach, runs=4)),
    ],
)  # fmt: skip
def test_one_training_shows_nothing_about_training(claim_id, planted):
    """Its interval is over texts: that another training would come out alike is not in it."""
    row = one_row(claim_id, planted(bound(claim_id) + 0.5, SURE))
    assert row["verdict"] == "underpowered" and np.isnan(row["low"]) and "needs 5 seeds" in row["why"]


def test_of_several_results_the_one_with_most_seeds_counts_and_the_others_are_counted():
    few, many, other = (compared("m", "good", "random", runs=runs)(value, SURE)[0] for runs, value in
                        ((5, -0.1), (10, 0.1), (7, 0.2)))  # fmt: skip
    row = one_row("m-random-worse", [few, many, other])
    assert row["runs"] == 10 and row["verdict"] == "holds"
    assert row["others"] == 2 and row["agree"] == 1 and row["input"] == "results.1"


def test_models_and_tasks_have_rows_of_their_own_and_published_numbers_their_task():
    mnli, toy = (compared("m", "good", "random")(0.1, SURE)[0] for _ in range(2))
    mnli.subject["task"] = "glue/mnli"
    table, _ = judged([mnli, toy], [BY_ID["m-random-worse"]])
    assert table["task"].tolist() == ["glue/mnli", "toy"]
    assert table["published"].iloc[0] == pytest.approx(0.839 - 0.756) and np.isnan(table["published"].iloc[1])
    assert Published("", {"glue/sst2": 0.5, "": 0.1}).value("/data/GLUE/SST-2") == 0.1, "another name, another task"


def test_weighted_attention_is_another_question():
    for claim_id in ("less-than-half-heterogeneous", "last-two-layers-most", "a-third-on-special"):
        (result,) = PLANTED[claim_id](0.1, SURE)
        result.subject["attention"] = "norm-weighted"
        assert one_row(claim_id, [result])["verdict"] == "not_tested"


def test_an_old_result_is_named_and_the_rest_judged():
    old, new = (compared("m", "good", "random")(0.1, SURE)[0] for _ in range(2))
    old.tables["comparisons"] = old.tables["comparisons"].drop(columns="runs")
    table, unread = judged([old, new], [BY_ID["m-random-worse"]])
    assert table["verdict"].tolist() == ["holds"]
    assert unread == ["m-random-worse: lottery of pocket on toy (version 1) lacks runs"]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_every_record_is_complete(claim):
    assert claim.source.cite and claim.where and claim.effect and claim.unit and claim.published.says
    assert claim.says.endswith(".") and re.fullmatch(r"[a-z0-9-]+", claim.id)
    assert claim.command.startswith(f"bertscope {claim.question} ")
    at = claim.asks.at
    assert claim.margin or at in (0, 0.5, 1, 2, 1 / 3) or claim.id == "bias-costs-31-points", (
        "a bound of ours says so"
    )


def test_untested_claims_are_listed_with_their_command():
    table, _ = judged([])
    assert len(table) == len(CLAIMS) and set(table["verdict"]) == {"not_tested"}
    assert (table["command"] != "").all() and table["effect"].isna().all()


# The step


def step(name: str, **config: int) -> Step:
    return Step(name, 1, config, {"model": Root("model", "pocket", "0" * 16)})


def test_the_ledger_is_a_step_over_stored_steps():
    both = [step("patterns"), step("lottery")]
    one = claims_step(both)
    assert (
        one.id == claims_step([*reversed(both), both[0], step("states")]).id
    )  # order, repeats and the rest don't count
    assert one.id != claims_step([step("patterns"), step("lottery", seed=1)]).id
    assert sorted(one.inputs) == ["results.0", "results.1"] and claims_step([step("states")]) is None
    assert find("claims").main == "holds"


def everything() -> list[Result]:
    """Of each experiment one result."""
    whole = ("bias-costs", "top-layer-costs-nothing", "lower-layers-can-freeze", "contrast-slows-the-cone")
    return [result for claim_id in whole for result in PLANTED[claim_id](-0.5, SURE)]


def test_the_result_counts_saves_and_is_the_same_every_time(tmp_path):
    found = claims(everything())
    assert {number.key: number.value for number in found.headline} == (
        found.tables["ledger"]["verdict"].value_counts().reindex(VERDICTS)
    ).fillna(0).to_dict()
    assert found.tables["counts"]["rows"].sum() == len(found.tables["ledger"])
    assert Result.load(found.save(tmp_path / "r")).equals(found) and claims(everything()).equals(found)


# In words


def test_numbers_are_written_as_they_are_read():
    assert percent(0.4049) == "40%" and percent(0.0137) == "1.4%" and percent(0) == "0%"
    assert sure(Estimate(0.4, 0.39, 0.41), percent) == "40% (39% to 41%)" and sure(Estimate(0.5)) == "0.500"
    assert sure(Estimate(-0.0031, -0.02, 0.01), points) == "−0.3 (−2.0 to 1.0)" and points(-0.0001) == "0.0"


def test_every_result_is_told_with_the_number_by_which_it_is_compared():
    from bertscope.study.claims.measure import statements

    def structure(task: str, value: float) -> Result:
        models = {name[0]: ModelRecord(name[0], name) for name in ("pocket", "tuned")}
        found = (("uuas", value, {"model": "p"}), ("uuas", 0.5, {"model": "t"}), ("linear_chain", 0.43, {}),
                 ("best_layer", 3.0, {"model": "p", "probe": "distance"}))  # fmt: skip
        headline = [Number(key, at, at - 0.01, at + 0.01, of=of) for key, at, of in found]
        return Result("structure", 1, headline=headline, models=models, subject={"task": task})

    table, unread = statements([structure("longer", 0.7), structure("a", 0.6)])
    assert table["sentence"].tolist()[0] == (
        "A linear map finds 60% (59% to 61%) of the syntax trees' edges in layer 3 of pocket, 50% (49% to 51%) in "
        "tuned; a chain of neighbours has 43% (42% to 44%)."
    )
    assert table["about"].tolist() == ["pocket and tuned on a", "pocket and tuned on longer"]
    assert table["main"].tolist() == [0.6, 0.7] and table["written"].tolist() == ["60%", "70%"]
    assert table["input"].tolist() == ["results.1", "results.0"] and not unread


def test_one_relation_is_told_by_its_accuracies_and_nothing_is_said_twice():
    from bertscope.study.claims.measure import statements

    best = pd.DataFrame(
        {"checkpoint": ["pocket"], "relation": ["frame_element"], "p": [0.02], "beats": [True], "accuracy": [0.46],
         "low": [0.33], "high": [0.58], "offset_accuracy": [0.26], "offset_low": [0.26], "offset_high": [0.26]}
    )  # fmt: skip
    table, _ = statements(
        [Result("relations", 1, {"best": best}, models={"pocket": ModelRecord("pocket", "pocket")})]
    )
    assert table["sentence"].tolist() == [
        "Of the words in the relation frame element, the best head finds 46% (33% to 58%) and the best fixed offset "
        "26%."
    ]


def test_the_papers_numbers_are_those_that_methods_tells():
    text = (Path(__file__).parents[2] / "docs" / "methods.md").read_text(encoding="utf-8")
    told = text[text.index("Kovaleva et al. 2019 (table 2)") :].split("They stand", 1)[0]
    found = re.findall(r"([A-Z][\w-]+)\s+([\d.]+)/([\d.]+)/(\d+\.?\d*\b)", told)
    tables = (published.UNTUNED, published.FROM_RANDOM, published.TUNED)
    by_task = {
        f"glue/{name.replace('-', '').lower()}": [float(one) / 100 for one in scores] for name, *scores in found
    }
    assert len(by_task) == 7
    assert by_task == {name: pytest.approx([table[name] for table in tables]) for name in published.TUNED}


def test_no_sentence_claims_more_than_a_test_was_made_for():
    for name in told():
        written = inspect.getsource(resolve(f"{QUESTIONS[name].folder}.result:sentence"))
        assert "significant" not in written and "clearly" not in written


def test_the_commands_are_understood():
    pytest.importorskip("cyclopts")
    from bertscope.cli.main import app

    for claim in CLAIMS:
        if claim.question in QUESTIONS:
            app.parse_args(shlex.split(claim.command)[1:], exit_on_error=False, print_error=False)
