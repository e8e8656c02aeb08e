"""The ledger goes by what models are, never by what they are called: a claim and results made by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd
import pytest

from bertscope.core.estimate import Estimate
from bertscope.core.model_record import DataRecord, ModelRecord, Origin
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.step import Root, Step
from bertscope.study.claims.measure import judged
from bertscope.study.claims.question import claims
from bertscope.study.claims.records.claim import VERDICTS, Bound, Claim, Evidence, Published, Source
from bertscope.study.claims.records.evidence import after_first, evidence, first_model, of_tuned
from bertscope.study.claims.records.preconditions import TunedFromFirst
from bertscope.study.claims.records.skill import skill_of
from bertscope.study.claims.result import claims_result

BASE = ModelRecord("base0000", "minilm", source="/models/minilm", made="2026-11-16T09:00:00+00:00")
TICKETS = DataRecord("data0000", "tickets", "classification", ("billing", "outage"))


def tuned(id: str = "tuned000", made: str = "14:02", name: str = "minilm tuned on tickets", **more) -> ModelRecord:
    """The base, fine-tuned and kept in a folder of its name."""
    origin = Origin("finetune", BASE, TICKETS, seed=0)
    about = {"origin": origin, "task_head": "classifier", "source": f"/models/{name}"} | more
    return ModelRecord(id, name, made=f"2026-11-16T{made}:00+00:00", **about)


def grows(result: Result) -> Iterator[Evidence]:
    """A claim about what fine-tuning did."""
    for model in after_first(result):
        for number in result.numbers(key="growth", model=model.id):
            yield of_tuned(result, model, Estimate.of_number(number), number.n, "texts")


def is_large(result: Result) -> Iterator[Evidence]:
    """A claim about any model as it is."""
    for model in result.models.values():
        for number in result.numbers(key="growth", model=model.id):
            yield evidence(result, Estimate.of_number(number), number.n, "texts", model=model)


def claim(read=grows, **more) -> Claim:
    about = {
        "id": "it-grows", "says": "It grows.", "source": Source("Source", "Somebody, 2020"), "where": "section 1",
        "question": "patterns", "effect": "the growth", "unit": "share", "asks": Bound(">", 0.0), "read": read,
        "published": Published("a tenth", {"glue/sst2": 0.1}), "command": "bertscope patterns BASE TUNED --on DATA",
        "needs": (TunedFromFirst(),) if read is grows else (),
    }  # fmt: skip
    return Claim(**about | more)


def measured(*models: ModelRecord, growth: float = 0.2, n: int = 400, task: str = "tickets") -> Result:
    """A result that says the same of each model."""
    headline = [Number("growth", growth, growth - 0.01, growth + 0.01, n, of={"model": one.id}) for one in models]
    return Result("patterns", 1, headline=headline, models={one.id: one for one in models}, subject={"task": task})


def rows(results: list[Result], one: Claim | None = None) -> list[dict]:
    table, unread = judged(results, [one or claim()])
    assert not unread
    return table.to_dict("records")


def verdicts(results: list[Result], one: Claim | None = None) -> list[tuple]:
    return [(row["task"], row["verdict"], row["effect"], row["why"]) for row in rows(results, one)]


@pytest.mark.parametrize("name", ["my-run", "pocket tuned on nothing", "minilm (random init)", "", "minilm"])
@pytest.mark.parametrize("read", [grows, is_large])
def test_no_name_changes_a_verdict(name, read):
    before = [measured(BASE, tuned()), measured(BASE, tuned("tuned001", "10:00"), growth=-0.2)]
    after = [
        replace(result, models={key: one if one is BASE else replace(one, name=name, source=f"/moved/{name}")
                                for key, one in result.models.items()})
        for result in before
    ]  # fmt: skip
    assert verdicts(before, claim(read)) == verdicts(after, claim(read))
    assert [row["earlier"] for row in rows(after, claim(read))][-1] == 1


def test_a_folder_that_was_trained_anew_is_spoken_of_as_it_is_now():
    old, new = tuned("tuned000", "14:02"), tuned("tuned001", "14:31")
    (row,) = rows([measured(BASE, new, growth=-0.2, n=100), measured(BASE, old, growth=0.2, n=900)])
    assert row["model"] == "tuned001" and row["verdict"] == "fails_this_training" and row["n"] == 100
    assert (row["earlier"], row["others"], row["agree"]) == (1, 0, 0)
    assert row["model_name"] == "minilm tuned on tickets, of 14:31" == row["about"], "the data is in the name"


def test_a_folder_of_unknown_origin_is_known_by_where_it_is():
    old, new = (tuned(id, made, origin=None) for id, made in (("tuned000", "14:02"), ("tuned001", "14:31")))
    (row,) = rows([measured(old, growth=0.2), measured(new, growth=-0.2)], claim(is_large))
    assert row["model"] == "tuned001" and row["earlier"] == 1
    elsewhere = replace(new, id="tuned002", source="/models/another")
    assert len(rows([measured(old), measured(elsewhere)], claim(is_large))) == 2, "another folder is another model"


def test_of_one_model_most_texts_count_wherever_it_was_found():
    few, many, moved = measured(BASE, growth=-0.2), measured(BASE, n=800), replace(BASE, source="/copy/of/it")
    (row,) = rows([few, many, measured(replace(moved, made="2026-11-20T10:00:00+00:00"))], claim(is_large))
    assert row["n"] == 800 and row["verdict"] == "holds" and row["input"] == "results.1"
    assert (row["others"], row["agree"], row["earlier"]) == (2, 1, 0)


def test_a_base_comes_before_what_became_of_it_and_each_task_has_a_row():
    found = rows([measured(tuned(), task="a"), measured(BASE, task="b"), measured(BASE, task="a")], claim(is_large))
    assert [(row["model"], row["task"]) for row in found] == [("base0000", "a"), ("base0000", "b"), ("tuned000", "a")]
    assert [row["about"] for row in found] == ["minilm on a", "minilm on b", "minilm tuned on tickets on a"]


def test_what_it_was_made_from_must_be_recorded_or_said():
    unknown = tuned(origin=None)
    (row,) = rows([measured(BASE, unknown)])
    assert row["verdict"] == "underpowered" and row["why"].endswith("isn't recorded; say it with --base")
    (row,) = rows([measured(BASE, tuned(origin=Origin(base=BASE)))])
    assert row["verdict"] == "holds_this_training" and not row["why"]
    (row,) = rows([measured(BASE, tuned(origin=Origin(base=ModelRecord("other000", "roberta"))))])
    assert row["verdict"] == "not_tested", "it came of another one"


def test_what_is_about_no_model_has_a_row_too():
    def read(result: Result) -> Iterator[Evidence]:
        assert first_model(result)
        yield evidence(result, Estimate(0.1, 0.05, 0.15), 10, "texts", model=None)

    (row,) = rows([measured(BASE), measured(tuned())], claim(read))
    assert (row["model"], row["model_name"], row["others"], row["earlier"]) == ("", "", 1, 0)
    assert row["about"] == "tickets"


def test_published_numbers_are_those_of_the_task_of_exactly_that_name():
    found = {row["task"]: row["published"] for row in rows(
        [measured(BASE, tuned(), task=task) for task in ("glue/sst2", "SST-2", "/data/glue/sst2")]
    )}  # fmt: skip
    assert found.pop("glue/sst2") == 0.1 and len(found) == 2 and all(value != value for value in found.values())
    assert Published("", {"glue/sst2": 0.5, "": 0.1}).value("elsewhere") == 0.1


def test_the_answer_counts_verdicts_by_key_and_calls_them_in_words():
    table, _ = judged([measured(BASE, tuned())], [claim(), claim(id="other", question="ablate")])
    result = claims_result(table, pd.DataFrame(), 1, [])
    assert {number.key: number.value for number in result.headline} == dict.fromkeys(VERDICTS, 0) | {
        "holds_this_training": 1, "not_tested": 1
    }  # fmt: skip
    assert tuple(claims.numbers) == tuple(claims.words["verdict"]) == VERDICTS
    assert result["not_tested"].label == "not tested" and [figure.key for figure in result.figures] == ["verdicts"]
    shown = result.in_words().tables
    assert shown["ledger"]["verdict"].tolist() == ["holds, this training", "not tested"]
    assert shown["counts"]["verdict"].tolist()[:2] == ["holds", "holds, this training"]


def test_other_seeds_stand_beside_the_model_that_most_claims_are_read_off():
    """Not the one that was trained last: a ledger that changes its model from claim to claim says nothing of any."""
    seeds = [tuned(f"seed{seed}000", f"14:0{seed}", source=f"/store/{seed}") for seed in (1, 2)]
    both = [measured(BASE, seeds[0]), measured(BASE, seeds[1], growth=-0.2)]
    only_the_first = measured(BASE, seeds[0])
    only_the_first.question = "features"
    ledger, _ = judged([*both, only_the_first], [claim(), claim(id="too", question="features")])
    assert set(ledger["model"]) == {"seed1000"}
    assert ledger.loc[0, ["others", "agree", "earlier"]].tolist() == [1, 0, 0], (
        "another seed disagrees, and it is told"
    )


def test_a_backup_of_an_old_model_is_no_newer_model():
    old, new = tuned("old00000", "10:00"), tuned("new00000", "11:00")
    backup = replace(old, source="/backup", made="2026-11-16T12:00:00+00:00")
    (row,) = rows([measured(BASE, old, growth=-0.2), measured(BASE, new), measured(BASE, backup, growth=-0.2)])
    assert row["model"] == "new00000" and row["verdict"] == "holds_this_training"


def test_where_only_a_replaced_model_was_measured_the_row_says_so():
    old, new = tuned("old00000", "10:00"), tuned("new00000", "11:00")
    seen = measured(BASE, new)
    seen.question = "features"
    ledger, _ = judged([measured(BASE, old), seen], [claim(), claim(id="too", question="features")])
    assert ledger["model"].tolist() == ["old00000", "new00000"]
    assert "earlier model" in ledger.loc[0, "note"] and not ledger.loc[1, "note"]


def test_two_data_sets_of_one_name_have_a_row_each():
    found = [measured(BASE, tuned()), measured(BASE, tuned(), growth=-0.2)]
    for result, digest in zip(found, ("aa", "bb"), strict=True):
        root = Root("examples", f"/{digest}/tickets.csv", digest)
        result.provenance["step"] = Step("patterns", 1, {}, {"examples": root}).to_json()
    assert [row["verdict"] for row in rows(found)] == ["holds_this_training", "fails_this_training"]


def test_chance_on_another_data_set_of_that_name_is_no_chance_here():
    def asked(question: str, digest: str) -> Result:
        headline = [Number("score", 0.5, 0.4, 0.6), Number("chance", 0.5)] if question == "ablate" else []
        result = Result(question, 1, headline=headline, models={BASE.id: BASE}, subject={"task": "DataFrame"})
        inputs = {"model": Root("model", "m", "mm"), "task": Root("task", "DataFrame", digest)}
        result.provenance["step"] = Step("ablate", 1, {}, inputs).to_json()
        return result

    assert skill_of(asked("redundancy", "aa"), [asked("ablate", "aa")]).low <= 0
    assert skill_of(asked("redundancy", "aa"), [asked("ablate", "bb")]) is None


def test_a_copy_of_the_base_is_no_fine_tuning_of_it():
    base = replace(BASE, content="same")
    copied = ModelRecord("copy0000", "mine", Origin(base=replace(BASE, id="")), content="same")
    assert rows([measured(base, copied)])[0]["verdict"] == "not_tested"


def test_what_is_judged_otherwise_than_a_stored_ledger_is_told():
    from ledger_changes import changes
    from planted_claims import PLANTED

    results = PLANTED["m-random-worse"](0.1, 1e-6)
    old, _ = judged(results)
    assert changes(old, results).empty
    old.loc[old["claim"] == "m-random-worse", "verdict"] = "fails"
    (row,) = changes(old, results).to_dict("records")
    assert (row["claim"], row["verdict_before"], row["verdict_now"]) == ("m-random-worse", "fails", "holds")
