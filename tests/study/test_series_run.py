"""A series of checkpoints in a model's place: planned, asked in one reading of the texts, collected."""

from __future__ import annotations

import copy
from dataclasses import fields

import numpy as np
import pytest

import bertscope
from bertscope.core.errors import UserError
from bertscope.core.planning import planned
from bertscope.core.registry import QUESTIONS, find
from bertscope.core.store import Store
from bertscope.models import finite_pass, in_turns, stage
from bertscope.models.batches import windows
from bertscope.models.load import load
from bertscope.study.file import read_study
from bertscope.study.runner import run_steps
from checkpoints import STEPS, drifting, guessing, jumping
from device import on_cpu
from long_corpora import text_file

ASKED = (
    "patterns", "change", "features", "relations", "geometry", "similarity", "ablate", "importance", "probe",
    "readout", "graft", "errors", "structure", "minimal-pairs",
)  # fmt: skip
ON = {"ablate": "demo/sentiment", "importance": "demo/sentiment", "readout": "demo/sentiment",
      "graft": "demo/sentiment", "errors": "demo/sentiment", "minimal-pairs": "demo/minimal"}  # fmt: skip
AGAINST = ("change", "graft", "similarity")
QUICK = {"repeats": 100}


@pytest.fixture(scope="module")
def run(_tiny, tmp_path_factory):
    return jumping(copy.deepcopy(_tiny), tmp_path_factory.mktemp("training") / "run", layer=2, at=5)


def plan(name: str, *named, limit: int = 40, **settings):
    question = find(name)
    return planned(
        question, named, ON.get(name, "demo/corpus"), question.config(**settings), {"limit": limit}, beside={}
    )


def test_these_can_be_asked_of_a_series():
    over = {name: find(name).over_steps for name in QUESTIONS if find(name).over_steps}
    assert sorted(ASKED) == sorted(name for name in over if not over[name].at_once)
    assert [name for name in over if over[name].at_once] == ["forgetting"], "tests/analyses/test_forgetting.py has it"


@pytest.mark.parametrize("name", ASKED)
def test_an_answer_of_a_series_is_the_step_that_asks_the_checkpoint_alone(run, name):
    whole = plan(name, str(run))
    folders = [str(run / f"checkpoint-{step}") for step in STEPS]
    first, *others = folders
    alone = [plan(name, first, one) for one in others] if name in AGAINST else [plan(name, one) for one in folders]
    answers = [value for key, value in whole.inputs.items() if key.startswith("answers.")]
    assert [step.id for step in answers] == [step.id for step in alone]
    to_last = [value.id for key, value in whole.inputs.items() if key.startswith("to_last.")]
    assert to_last == ([plan(name, one, folders[-1]).id for one in folders[:-1]] if name == "similarity" else [])
    assert whole.name == "course" and whole.config == {"steps": list(STEPS)}


def test_another_model_may_stand_before_a_series(run, tmp_path, tiny):
    base = str(tiny.save(tmp_path / "base"))
    whole = plan("change", base, str(run))
    assert list(whole.inputs) == [f"answers.{place}" for place in range(len(STEPS))]


@pytest.mark.parametrize(
    ("name", "named", "said"),
    [
        ("patterns", ("{run}", "pocket"), "patterns of a series takes nothing else"),
        ("change", ("{run}", "pocket"), "change of a series takes one model before it"),
        ("change", ("{run}", "{run}"), "change of a series takes one model before it"),
        ("finetune", ("{run}",), "finetune can't be asked of a series; give {run}/checkpoint-60, its newest"),
    ],
)
def test_what_a_series_cannot_be_asked(run, name, named, said):
    with pytest.raises(UserError) as error:
        question = find(name)
        where = [one.format(run=run) for one in named]
        planned(question, where, "demo/sentiment", question.config(), {}, beside={})
    assert said.format(run=run) in str(error.value)


@pytest.fixture
def fills(monkeypatch):
    """How often weights were read into the stage, and how many bytes of models were open at most."""
    counted = []
    real = stage._fill
    monkeypatch.setattr(stage, "_fill", lambda slot, one: counted.append(one.encoder.name) or real(slot, one))
    return counted


@on_cpu
@pytest.mark.parametrize("asked", [
    ("change",), pytest.param(("patterns", "change", "features", "relations"), marks=pytest.mark.slow),
])  # fmt: skip
def test_many_checkpoints_in_one_reading_find_what_each_finds_alone(tiny, tmp_path, fills, monkeypatch, asked):
    folder = drifting(tiny, tmp_path / "run", steps=(1, 2, 3))
    extra = {"relations": {"least": 5}}
    steps = [plan(name, str(folder), limit=20, **QUICK, **extra.get(name, {})) for name in asked]
    read = []
    monkeypatch.setattr(in_turns, "windows", lambda *args, **how: read.append(1) or windows(*args, **how))
    together, alone = Store(tmp_path / "together"), Store(tmp_path / "alone")
    run_steps(steps, together)
    assert len(read) == 1, "all questions of all checkpoints read the texts once"
    made = {step.id: step for whole in steps for step in whole.before()}
    assert len(made) == 3 * len(asked) - ("change" in asked) and fills
    for step in made.values():
        run_steps([step], alone)
        one, other = together.result(step), alone.result(step)
        assert one.equals(other), step.id
        for mine, its in zip(one.headline, other.headline, strict=True):
            np.testing.assert_array_equal(mine.draws, its.draws)
    provenance = together.result(next(iter(made.values()))).provenance
    assert len(provenance["one_pass_with"]) == len(made) - 1


SMALL = {
    "ablate": {"units": ("layer",)}, "errors": {"neighbours": 0, "words": False, "permutations": 99},
    "probe": {"targets": ("pos",), "probes": ("linear",), "words": 60, "code": False, "expected": False},
    "structure": {"ranks": (4,), "control": False, "random": False, "sentences": 0, "epochs": 2},
    "graft": {"units": ("layer",), "steps": 3, "permutations": 99},
    "geometry": {"groups": 2}, "similarity": {"groups": 2},
}  # fmt: skip


@on_cpu
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in ASKED if name not in ("patterns", "change", "features", "relations")]
)
def test_the_others_find_of_a_series_what_they_find_of_each_alone(tiny, tmp_path, name):
    """Each with a store of its own, so that nothing is shared."""
    model = guessing(tiny) if name == "minimal-pairs" else tiny
    folder, question = drifting(model, tmp_path / "run", steps=(1, 2)), find(name)
    known = {one.name for one in fields(question.config)}
    settings = {key: value for key, value in (QUICK | SMALL.get(name, {})).items() if key in known}
    whole, together = plan(name, str(folder), limit=60, **settings), Store(tmp_path / "together")
    run_steps([whole], together)
    for place, step in enumerate(whole.before()):
        alone = Store(tmp_path / str(place))
        run_steps([step], alone)
        one, other = together.result(step), alone.result(step)
        assert one.equals(other), step.id
        for mine, its in zip(one.headline, other.headline, strict=True):
            np.testing.assert_array_equal(mine.draws, its.draws)


@pytest.mark.slow
def test_one_checkpoint_that_breaks_leaves_the_others_their_answers(tiny, tmp_path, monkeypatch):
    folder = drifting(tiny, tmp_path / "run", steps=(1, 2, 3))
    whole, store = plan("patterns", str(folder), **QUICK), Store(tmp_path / "store")
    bad = load(str(folder / "checkpoint-2")).fingerprint
    real = finite_pass._Watch._after_model

    def breaking(self, module, args, output):
        if self.encoder.fingerprint == bad:
            raise UserError("this checkpoint breaks")
        real(self, module, args, output)

    keep = finite_pass._Watch.__init__
    monkeypatch.setattr(
        finite_pass._Watch, "__init__",
        lambda self, encoder, undo: setattr(self, "encoder", encoder) or keep(self, encoder, undo),
    )  # fmt: skip
    monkeypatch.setattr(finite_pass._Watch, "_after_model", breaking)
    outcome = run_steps([whole], store, keep_going=True)
    assert list(outcome.failed.values()) == ["this checkpoint breaks"] and len(outcome.done) == 2
    assert list(outcome.skipped) == [whole.id]
    monkeypatch.undo()
    again = run_steps([whole], store)
    assert len(again.done) == 2 and len(again.stored) == 2, "it goes on with what is missing"


def test_a_study_names_series(run, tmp_path):
    file = tmp_path / "study.yaml"
    file.write_text(
        f"corpus: demo/corpus\nlimit: 40\nseries:\n  mine: {run}/checkpoint-*\n  two: [{run}/checkpoint-0, "
        f"{run}/checkpoint-60]\nquestions:\n- patterns: {{of: mine, repeats: 100}}\n"
        "- change: {of: two, repeats: 100}\n"
    )
    study = read_study(file)
    asked = [step for step in study.steps if step.name == "course"]
    assert [step.id for step in asked] == [
        plan("patterns", str(run), **QUICK).id,
        plan("change", f"{run}/checkpoint-0,{run}/checkpoint-60", **QUICK).id,
    ]
    assert not study.notes


@pytest.mark.parametrize(
    ("said", "lines"),
    [
        ("no checkpoint matches", "series: {{mine: '{run}/no-*'}}"),
        ("can't be a name of your own", "series: {{model: '{run}/checkpoint-*'}}"),
        ("names only", "series: {{mine: ['{run}/checkpoint-0']}}"),
    ],
)
def test_a_studys_mistakes_have_their_line(run, tmp_path, said, lines):
    file = tmp_path / "study.yaml"
    file.write_text(
        "corpus: demo/corpus\nmodel: pocket\n" + lines.format(run=run) + "\nquestions:\n- patterns: {of: mine}\n"
    )
    with pytest.raises(UserError, match="line 3") as error:
        read_study(file)
    assert said in str(error.value)


def test_the_command_line(run, command):
    code, out, err = command("change", run, "--on", "demo/corpus", "--limit", 30, "--repeats", 100)
    assert code == 0 and "cosine" in out and "between steps 30 and 40" in out, err
    code, _, err = command("change", run / "checkpoint-0", "--on", "demo/corpus")
    assert code == 2 and "after isn't given" in err and "no series" in err
    code, _, err = command("patterns", f"{run}/nothing-*", "--on", "demo/corpus")
    assert code == 2 and "no checkpoint matches" in err


@on_cpu
@pytest.mark.slow
def test_python_takes_a_series_in_a_models_place(run, tiny, tmp_path):
    store = Store(tmp_path / "store")
    how = {"limit": 30, "store": store, **QUICK}
    one = bertscope.change(bertscope.series(run), "demo/corpus", **how)
    other = bertscope.change(str(run), "demo/corpus", **how)
    held = {step: load(str(run / f"checkpoint-{step}")) for step in STEPS}
    before = [one.fingerprint for one in held.values()]
    third = bertscope.change(bertscope.series(held), "demo/corpus", **how | {"store": tmp_path / "another"})
    assert before == [one.fingerprint for one in held.values()], "a user's models stay as they are"
    for each in (other, third):
        assert np.array_equal(each.tables["lines"]["value"], one.tables["lines"]["value"])
    answers = [store.path(step) for step in plan("change", str(run), limit=30, **QUICK).inputs.values()]
    collected = find("course")(answers, steps=STEPS)
    assert collected.tables["onsets"].equals(one.tables["onsets"])


def in_shards(name: str, folder, corpus):
    """The same question of the series in one pass, and in two shards."""
    question = find(name)
    how = (question, [str(folder)], str(corpus), question.config(**QUICK), {}, {})
    return planned(*how), planned(*how, shards=2)


def test_each_checkpoint_of_a_series_is_asked_in_shards(run, tmp_path):
    whole, apart = in_shards("patterns", run, text_file(tmp_path / "short.txt", 30))
    assert whole.id != apart.id and len([*apart.before()]) == len(STEPS)
    assert all({"sums.0", "sums.1"} <= {*step.inputs} for step in apart.before())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["patterns", "change"])
def test_a_series_in_shards_finds_the_same(tiny, tmp_path, name):
    folder, store = drifting(tiny, tmp_path / "run", steps=(1, 2)), Store(tmp_path / "store")
    steps = in_shards(name, folder, text_file(tmp_path / "short.txt", 2048 + 150))  # a window and a bit
    run_steps(steps, store)
    one, other = (store.result(step).tables["lines"] for step in steps)
    assert one["line"].tolist() == other["line"].tolist()
    for column in ("value", "low", "high"):
        np.testing.assert_allclose(one[column], other[column], rtol=0, atol=1e-12)
