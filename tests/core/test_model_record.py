"""What a model is and where it came from is recorded; what it is called is for eyes."""

from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd

from bertscope.core.figure import Figure
from bertscope.core.model_record import DataRecord, ModelRecord, Origin, by_key, records
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.words import about, model_names

BASE = ModelRecord("b0", "bert", task_head="masked-lm", source="bert-base-uncased")
DATA = DataRecord("d0", "tickets", "classification", ("open", "closed"))
TUNED = ModelRecord(
    "t0", "my-run", Origin("finetune", BASE, DATA, 3), "classifier", "/runs/a", "2026-11-16T14:02:00+00:00"
)


class Held:
    def __init__(self, record: ModelRecord) -> None:
        self.record = record


def test_a_record_survives_json():
    assert ModelRecord.from_json(json.loads(json.dumps(TUNED.to_json()))) == TUNED
    newer = TUNED.to_json() | {"colour": "red"}
    assert ModelRecord.from_json(newer) == TUNED, "what a newer version notes beside it is left out"


def test_where_it_came_from_whatever_it_is_called():
    for name in ("my-run", "bert tuned on tickets", "bert (random init)"):
        named = replace(TUNED, name=name, source=f"/{name}")
        assert named.came_of(BASE) is True and named.is_one_training and not named.is_random
        assert named.trained_on == DATA and named.place == TUNED.place
    elsewhere = replace(BASE, id="b1", source="/other")
    assert TUNED.came_of(elsewhere) is False, "another content is another model, whatever its name"
    assert TUNED.came_of(replace(BASE, id="b1")) is None, "what lies where the base lay may have been written over"
    base = replace(BASE, content="c")
    tuned = replace(TUNED, origin=replace(TUNED.origin, base=base))
    assert tuned.came_of(replace(elsewhere, content="c")) is True, "read from a file or handed over, it is one model"
    cut = ModelRecord("c0", "small", Origin("cut", TUNED, removed="head:1.1"))
    assert cut.came_of(BASE) and cut.came_of(TUNED) and cut.trained_on == DATA and cut.is_one_training


def test_an_unknown_origin_is_neither_yes_nor_no():
    foreign = ModelRecord("f0", "bert tuned on tickets", task_head="classifier", source="/downloads/x")
    assert foreign.came_of(BASE) is None and foreign.is_one_training, "a classifier is the work of one training"
    told = replace(foreign, origin=Origin(base=BASE))
    assert told.came_of(BASE) is True and told.place == "/downloads/x"
    by_source = replace(foreign, origin=Origin(base=ModelRecord("", "x", source="bert-base-uncased")))
    assert by_source.came_of(BASE) is True and by_source.came_of(replace(BASE, source="elsewhere")) is None
    assert ModelRecord("", "a").is_same(ModelRecord("", "a")) is False, "a name alone is no identity"


def test_random_weights_are_known_by_how_they_were_drawn():
    drawn = ModelRecord("r0", "bert", Origin("random", BASE, init="random"))
    tuned = ModelRecord("r1", "bert", Origin("finetune", BASE, DATA, init="random"))
    assert drawn.is_random and tuned.is_random and not drawn.is_one_training and tuned.is_one_training


def test_trainings_that_differ_by_their_seed_share_a_place_and_others_do_not():
    def placed(**how: object) -> str:
        return replace(TUNED, source="", origin=replace(TUNED.origin, **how)).place

    assert placed(seed=1, recipe={"seed": 1, "epochs": 3}) == placed(seed=2, recipe={"seed": 2, "epochs": 3})
    assert placed(recipe={"arm": "good"}) != placed(recipe={"arm": "bad"}) != placed(data=replace(DATA, id="d1"))
    legacy = [replace(TUNED, id=id, source=id, origin=Origin("finetune", data=DATA)) for id in ("x", "y")]
    assert legacy[0].place != legacy[1].place, "of whose bases nothing is known"


def test_a_training_into_the_same_folder_takes_the_place_of_the_last():
    again = replace(TUNED, id="t1", made="2026-11-16T14:31:00+00:00", origin=replace(TUNED.origin, seed=4))
    assert again.place == TUNED.place and again.id != TUNED.id
    assert list(model_names(records([Held(TUNED), Held(again)])).values()) == ["my-run, of 14:02", "my-run, of 14:31"]
    later = replace(again, made="2026-11-18T09:00:00+00:00")
    assert list(model_names(records([Held(TUNED), Held(later)])).values()) == [
        "my-run, of 2026-11-16 14:02", "my-run, of 2026-11-18 09:00"
    ]  # fmt: skip
    untimed = [replace(TUNED, id=id, made="") for id in ("aaaaaaaa1", "bbbbbbbb2")]
    assert list(model_names({one.id: one for one in untimed}).values()) == ["my-run, of aaaaaa", "my-run, of bbbbbb"]


def test_trainings_of_one_name_are_told_apart_by_what_was_done():
    def made(id: str, **how: object) -> ModelRecord:
        return replace(TUNED, id=id, source=f"/store/{id}", origin=replace(TUNED.origin, **how))

    def names(*models: ModelRecord) -> list[str]:
        return list(model_names({one.id: one for one in models}).values())

    assert names(made("a", seed=0), made("b", seed=1)) == ["my-run, seed 0", "my-run, seed 1"]
    assert names(made("a", frozen=""), made("b", frozen="1-8")) == ["my-run", "my-run, frozen 1-8"]
    alike = [replace(made("a"), made="2026-11-16T14:02"), replace(made("b"), made="2026-11-16T14:31")]
    assert names(*alike) == ["my-run, of 14:02", "my-run, of 14:31"], "the same was done twice"


def test_many_checkpoints_of_a_training_are_named_by_their_first_step_and_their_last():
    def at(step: int) -> ModelRecord:
        return ModelRecord(f"c{step}", f"pocket tuned, step {step:,}", origin=Origin("finetune", step=step))

    base = {"b": ModelRecord("b", "pocket")}
    some = {record.id: record for record in map(at, (0, 15, 1200))}
    assert about(base | some, {"task": "corpus"}) == "pocket and pocket tuned, steps 0 to 1,200 on corpus"
    del some["c15"]
    assert about(some, {}) == "pocket tuned, step 0 and pocket tuned, step 1,200"


def test_one_model_given_twice_has_two_keys_and_two_names():
    found = records([Held(BASE), Held(TUNED), Held(BASE)])
    assert list(found) == ["b0", "t0", "b0-2"] and list(by_key([Held(BASE)])) == ["b0"]
    assert list(model_names(found).values()) == ["bert", "my-run", "bert (2)"]


def test_words_stand_where_keys_were_in_tables_figures_and_labels():
    table = pd.DataFrame({"checkpoint": ["b0", "t0"], "class": ["b0", "vertical"], "value": [1.0, 2.0]})
    figure = Figure("lines", "layers", x="value", y="value", title="t", caption="c", where={"checkpoint": "t0"})
    numbers = [Number("share", 1.0, of={"model": "b0"}), Number("share", 2.0, of={"model": "t0"})]
    result = Result(
        "none such", 1, tables={"layers": table}, headline=numbers, figures=[figure], models={"b0": BASE, "t0": TUNED}
    )
    shown = result.in_words({"t0": "mine"})
    assert shown.tables["layers"]["checkpoint"].tolist() == ["bert", "mine"]
    assert shown.figures[0].where == {"checkpoint": "mine"} and shown.about == "bert and mine"
    assert [number.label for number in shown.headline] == ["share, bert", "share, mine"]
    assert result.tables["layers"]["checkpoint"].tolist() == ["b0", "t0"], "the result itself stays as it is"
