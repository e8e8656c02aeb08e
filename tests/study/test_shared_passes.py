"""Questions about attention share a pass in the runner, and find to the last digit what they find alone."""

from __future__ import annotations

import copy

import pytest
import torch

from bertscope.analyses.attention import maps, pass_part
from bertscope.core.errors import UserError
from bertscope.core.inputs import Inputs
from bertscope.core.registry import find
from bertscope.core.step import Step
from bertscope.core.store import Store
from bertscope.data.corpus import data_root, examples_root
from bertscope.models import load as loading
from bertscope.models.source import model_root
from bertscope.study.runner import run_steps
from bertscope.study.shared_passes import jobs
from device import on_cpu


@pytest.fixture
def models(tiny, tmp_path):
    """A model and one whose weights differ, as roots."""
    other = copy.deepcopy(tiny)
    torch.manual_seed(3)
    with torch.no_grad():
        for weight in other.model.parameters():
            weight.mul_(1 + 0.1 * torch.randn_like(weight))
    return model_root(str(tiny.save(tmp_path / "before"))), model_root(str(other.save(tmp_path / "after")))


@pytest.fixture
def passes(monkeypatch):
    """How many encoders each pass ran."""
    counted = []
    real = maps.read_maps

    def counting(encoders, *args, **kwargs):
        counted.append(len(encoders))
        return real(encoders, *args, **kwargs)

    monkeypatch.setattr(pass_part, "read_maps", counting)
    return counted


def ask(name: str, inputs, **settings) -> Step:
    declared = find(name)
    return declared.step(inputs, declared.config(repeats=100, **settings))


def five(before, after, texts, data, **settings) -> list[Step]:
    both = {"models.0": before, "models.1": after}
    return [
        ask("patterns", both | {"examples": texts}, **settings),
        ask("change", {"before": before, "after": after, "examples": texts}, **settings),
        ask("features", {"models.0": after, "examples": texts}, **settings),
        ask("relations", {"models.0": before, "examples": texts}, least=5, **settings),
        ask("redundancy", {"models.0": after, "models.1": before, "data": data}, tokens=200, **settings),
    ]


def same(steps: list[Step], one: Store, other: Store) -> bool:
    return all(one.result(step).equals(other.result(step)) for step in steps)


@pytest.mark.slow
@on_cpu
@pytest.mark.parametrize("weighted", [False, True])
def test_five_questions_share_one_pass_and_find_the_same(models, passes, tmp_path, weighted):
    texts = examples_root("demo/corpus", limit=40)
    steps = five(*models, texts, texts, weighted=weighted)
    assert len(run_steps(steps, Store(tmp_path / "together")).done) == 5
    assert passes == [2], "one pass over both models"
    alone = Store(tmp_path / "alone")
    for step in steps:
        run_steps([step], alone)
    assert passes == [2, 2, 2, 1, 1, 2]
    assert same(steps, alone, Store(tmp_path / "together"))
    provenance = Store(tmp_path / "together").result(steps[0]).provenance
    assert provenance["one_pass_with"] == [step.id for step in steps[1:]] and provenance["seconds"] > 0


@on_cpu
def test_where_a_text_is_too_long_relations_leaves_it_out_in_a_pass_of_its_own(models, passes, tmp_path):
    path = tmp_path / "long.conllu"
    word = "{}\tthe\tthe\tDET\tDT\t_\t{}\t{}\t_\t_\n"
    for sentence in range(30):
        length = 80 if sentence == 3 else 6
        rows = [word.format(at, max(0, at - 1), "root" if at == 1 else "det") for at in range(1, length + 1)]
        with path.open("a") as stream:
            stream.write(f"# sent_id = {sentence}\n" + "".join(rows) + "\n")
    texts = examples_root(str(path))
    steps = five(*models, texts, texts)
    run_steps(steps, Store(tmp_path / "together"))
    assert sorted(passes) == [1, 2], "four share, and relations reads alone"
    alone = Store(tmp_path / "alone")
    for step in steps:
        run_steps([step], alone)
    assert same(steps, alone, Store(tmp_path / "together"))
    notes = {step.name: " ".join(alone.result(step).notes) for step in steps}
    assert "left out" in notes["relations"] and "were cut" in notes["patterns"]


def test_a_task_and_its_texts_are_the_same_texts(models, passes, tmp_path):
    before, after = models
    task, texts = data_root("demo/sentiment", limit=60), examples_root("demo/sentiment", limit=60)
    steps = [
        ask("patterns", {"models.0": before, "examples": texts}),
        ask("redundancy", {"models.0": after, "data": task}, tokens=200, pairs=0),
    ]
    run_steps(steps, Store(tmp_path / "together"))
    assert passes == [2]


def test_other_texts_other_attention_and_other_tokenizers_are_read_apart(models, passes, tmp_path, tiny):
    before, _ = models
    texts, fewer = examples_root("demo/corpus", limit=30), examples_root("demo/corpus", limit=20)
    cased = tiny.save(tmp_path / "cased")
    for name, old, new in (
        ("tokenizer_config.json", '"do_lower_case": true', '"do_lower_case": false'),
        ("tokenizer.json", '"lowercase": true', '"lowercase": false'),
    ):
        text = (cased / name).read_text()
        assert old in text
        (cased / name).write_text(text.replace(old, new))
    (cased / "seal.json").unlink()
    other = model_root(str(cased))
    steps = [
        ask("patterns", {"models.0": before, "examples": texts}),
        ask("patterns", {"models.0": before, "examples": fewer}),
        ask("patterns", {"models.0": before, "examples": texts}, weighted=True),
        ask("features", {"models.0": other, "examples": texts}),
    ]
    assert [len(job) for job in jobs(steps, [])] == [2, 1, 1]
    run_steps(steps, Store(tmp_path / "store"))
    assert passes == [1, 1, 1, 1]


def test_one_question_that_fails_leaves_the_others_their_pass(models, passes, tmp_path):
    before, after = models
    plain = tmp_path / "plain.txt"
    plain.write_text("the food was good .\nit rained .\n" * 10)
    texts = examples_root(str(plain))
    good = ask("patterns", {"models.0": before, "examples": texts})
    bad = ask("relations", {"models.0": before, "examples": texts})
    moved = ask("change", {"before": before, "after": after, "examples": texts})
    store = Store(tmp_path / "store")
    outcome = run_steps([good, bad, moved], store, keep_going=True, inputs=Inputs(store.path))
    assert set(outcome.done) == {good.id, moved.id} and set(outcome.failed) == {bad.id} and passes == [2]


def test_a_pass_that_breaks_is_tried_by_each_alone(models, tmp_path, monkeypatch):
    before, after = models
    texts = examples_root("demo/corpus", limit=20)
    good = ask("patterns", {"models.0": before, "examples": texts})
    broken = ask("change", {"before": before, "after": after, "examples": texts})

    def break_(*_):
        raise UserError("this reader breaks")

    monkeypatch.setattr("bertscope.analyses.change.measure.ChangeReader.read", break_)
    outcome = run_steps([good, broken], Store(tmp_path / "store"), keep_going=True)
    assert set(outcome.done) == {good.id} and outcome.failed == {broken.id: "this reader breaks"}


def test_a_pass_waits_for_those_who_can_join_it():
    first = ask("patterns", {"models.0": model_root("pocket"), "examples": examples_root("demo/corpus")})
    other = ask("patterns", {"models.0": model_root("pocket"), "examples": examples_root("demo/sentiment")})
    joins = ask("features", {"models.0": model_root("pocket"), "examples": examples_root("demo/corpus")})
    assert jobs([first, other], []) == [(first,), (other,)]
    assert jobs([first, other], [joins]) == [(other,), (first,)]
    assert jobs([first, other, joins], []) == [(first, joins), (other,)]


def test_a_model_is_loaded_once_for_many_steps(models, tmp_path, monkeypatch):
    before, _ = models
    loaded = []
    real = loading.load
    monkeypatch.setattr(loading, "load", lambda *args, **kwargs: loaded.append(args) or real(*args, **kwargs))
    corpora = [examples_root("demo/corpus", limit=limit) for limit in (10, 11, 12, 13)]
    run_steps([ask("patterns", {"models.0": before, "examples": texts}) for texts in corpora], Store(tmp_path / "s"))
    assert len(loaded) == 1


def test_what_is_open_is_bounded(models):
    before, after = models
    opened = Inputs(lambda step: None)
    steps = [
        ask("patterns", {"models.0": before, "examples": examples_root("demo/corpus", limit=n)}) for n in (9, 10)
    ]
    steps.append(ask("patterns", {"models.0": after, "examples": examples_root("demo/corpus", limit=9)}))
    first, second, third = (opened.of(step) for step in steps)
    assert first["models"][0] is second["models"][0] and first["examples"] is third["examples"]
    opened.forget(but=1)
    again = opened.of(steps[2])
    assert again["models"][0] is third["models"][0] and again["examples"] is first["examples"]
    assert opened.of(steps[0])["models"][0] is not first["models"][0]
    opened.forget(but=3)
    assert opened.of(steps[2])["models"][0] is third["models"][0], "two are open, and three may be"
