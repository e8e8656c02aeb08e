"""Calls with a store: planned, found or computed, kept, and found again by what was given, by name or in memory."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bertscope
from bertscope.core.errors import UserError
from bertscope.core.registry import QUESTIONS, find
from bertscope.core.step import Root
from bertscope.data.read import task_root
from bertscope.models.source import model_root
from device import on_cpu
from pocket_facts import PIECES
from toy import write_reviews

QUICK = {"units": ["layer"], "repeats": 100, "permutations": 99}
ROWS = [{"text": f"the food was {('bad', 'good')[row % 2]} {row}", "label": row % 2} for row in range(40)]


def steps(store: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (store / "steps").iterdir()}


def test_an_experiment_in_one_line_has_the_commands_store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = {"limit": 4, "epochs": 1, "patterns": False}
    found = bertscope.scratch("pocket", "demo/sentiment", **asked)
    made = steps(tmp_path / "bertscope-store")
    assert found.numbers(key="score", arm="tuned")[0].n == 4 and len(made) == 6
    config = bertscope.ScratchConfig(epochs=1, patterns=False)
    store = bertscope.Store("bertscope-store")
    assert bertscope.scratch("pocket", "demo/sentiment", config, limit=4, store=store).equals(found)
    assert steps(tmp_path / "bertscope-store") == made, "it was found"


def test_stored_results_are_given_beside(tmp_path, tiny):
    """Several, or one; by Python as by a command. What is only in memory can't be found again, and is refused."""
    quick = {"repeats": 100, "permutations": 99, "store": tmp_path / "s"}
    folder = bertscope.ablate(tiny, ROWS, units=["head", "mlp"], **quick).save(tmp_path / "ablated")
    important = bertscope.importance(tiny, ROWS, repeats=100, faithful=False)
    other = important.save(tmp_path / "important")
    asked = {"units": ["mlp"], "by": ["kl"], "steps": 2, "random": 3, "repeats": 100, "store": tmp_path / "s"}
    found = bertscope.circuit(tiny, ROWS, rankings=[folder, other], **asked)
    assert set(found.tables["curves"]["ranking"]) == {"kl", "ablate_loss", "importance", "random"}
    made = steps(tmp_path / "s")
    assert bertscope.circuit(tiny, ROWS, rankings=[folder, str(other)], **asked).equals(found)
    assert steps(tmp_path / "s") == made, "it was found"
    alone = bertscope.circuit(tiny, ROWS, rankings=folder, **asked)
    assert "importance" not in set(alone.tables["curves"]["ranking"])
    with pytest.raises(UserError, match="save the result, and give its folder"):
        bertscope.circuit(tiny, ROWS, rankings=[important], **asked)
    pruned = bertscope.prune(tiny, ROWS, ranking=folder, force=True, share=0.5, store=tmp_path / "s").result
    assert pruned.subject["order"] == "ablate_loss"


def test_without_a_store_nothing_is_written(tmp_path, monkeypatch, tiny, toy_task):
    monkeypatch.chdir(tmp_path)
    bertscope.ablate(tiny, toy_task, **QUICK)
    assert list(tmp_path.iterdir()) == []


def test_a_model_and_data_in_memory_are_found_again(tmp_path, tiny):
    """What holds them makes no difference: the rows are the same, and so are the weights."""
    pd = pytest.importorskip("pandas")
    first = bertscope.ablate(tiny.model, ROWS, tokenizer=tiny.tokenizer, store=tmp_path, **QUICK)
    made = steps(tmp_path)
    for data in (pd.DataFrame(ROWS), bertscope.read_task(ROWS)):
        assert bertscope.ablate(tiny, data, store=tmp_path, **QUICK).equals(first)
    assert steps(tmp_path) == made
    stored = next(bertscope.Store(tmp_path).finished())
    assert stored.step.inputs["task"].held is None and stored.step.inputs["model"].source == tiny.name
    others = [{**ROWS[0], "text": "another"}, *ROWS[1:]]
    bertscope.ablate(tiny, others, store=tmp_path, **QUICK)
    next(tiny.model.parameters()).data[0, 0] += 1
    bertscope.ablate(tiny, others, store=tmp_path, **QUICK)
    assert len(steps(tmp_path)) == 3, "another text is other data, another weight another model"


@pytest.mark.slow
def test_another_process_finds_it(tmp_path, tiny):
    folder = tiny.save(tmp_path / "tiny")
    code = f"""
import bertscope
from transformers import AutoModelForSequenceClassification, AutoTokenizer
model = AutoModelForSequenceClassification.from_pretrained({str(folder)!r})
rows = {ROWS!r}
bertscope.ablate(model, rows, tokenizer={str(folder)!r}, store={str(tmp_path / "store")!r}, **{QUICK!r})
"""
    exec(code, {})
    made = steps(tmp_path / "store")
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert len(made) == 1 and steps(tmp_path / "store") == made


def test_identities_are_of_content_not_of_names(tiny, toy_task):
    root = model_root(tiny)
    tiny.name = "another name"
    assert model_root(tiny).digest == root.digest and root.held is tiny and root.given is tiny
    tiny.model.config.bertscope = {"name": "saved before"}
    assert model_root(tiny).digest == root.digest
    tiny.model.config.id2label = {0: "b", 1: "a"}
    assert model_root(tiny).digest != root.digest, "labels are part of what a model says"
    task = task_root(toy_task)
    assert task_root(replace(toy_task, name="other", notes=("a note",))).digest == task.digest
    turned = replace(toy_task.test, label=1 - toy_task.test.label)
    assert task_root(replace(toy_task, test=turned)).digest != task.digest
    assert task_root(replace(toy_task, metric="f1")).digest != task.digest
    assert task_root(toy_task, limit=8).id != task.id and task_root(toy_task, limit=8).digest == task.digest
    assert Root(**task.to_json()).id == task.id and Root(**task.to_json()).held is None


def test_what_was_changed_after_planning_is_refused(tmp_path, tiny, toy_task):
    step = find("ablate").step({"model": model_root(tiny), "task": task_root(toy_task)})
    next(tiny.model.parameters()).data[0, 0] += 1
    with pytest.raises(UserError, match="has changed since this run was planned"):
        bertscope.run_steps([step], tmp_path)


def test_what_is_in_memory_is_not_sent_to_workers(tmp_path, tiny):
    step = find("ablate").step({"model": model_root(tiny), "task": task_root("demo/sentiment")})
    with pytest.raises(UserError, match="is in this process's memory, which workers can't see; save it, and name it"):
        bertscope.run_steps([step], tmp_path, workers=1)


def test_plans_look_into_a_model_that_is_held(tmp_path, tiny, toy_task):
    config = bertscope.FreezeConfig(sets=("2",), movement=True, texts=4, words=50)
    step = find("freeze").plan(model_root(tiny), task_root(toy_task), config)
    frozen = [one.config["frozen"] for one in step.before() if one.name == "finetune"]
    assert frozen == ["", "embeddings,1-2"]
    with pytest.raises(UserError, match="4 layers can't be frozen: the model has 3"):
        bertscope.freeze(tiny, toy_task, sets=["4"], store=tmp_path)
    with pytest.raises(UserError, match="--hans is for tasks with the label entailment; toy has bad, good"):
        find("lottery").plan(model_root(tiny), task_root(toy_task), bertscope.LotteryConfig(hans="hans"))


def test_what_a_question_keeps_comes_back_from_the_store(tmp_path, tiny, toy_task):
    asked = {"epochs": 1, "limit": 8, "store": tmp_path / "store"}
    trained = bertscope.finetune(tiny, toy_task, out=tmp_path / "tuned", **asked)
    again = bertscope.finetune(tiny, toy_task, **asked)
    assert again.result.equals(trained.result) and again.encoder.fingerprint == trained.encoder.fingerprint
    assert bertscope.load(tmp_path / "tuned").fingerprint == trained.encoder.fingerprint
    texts = list(toy_task.test.text[:4])
    kept = bertscope.states(tiny, texts, store=tmp_path / "store")
    assert kept.store.n_layers == 3 and (kept.store.array == bertscope.states(tiny, texts).store.array).all()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="mine"):
        bertscope.finetune(tiny, toy_task, out=tmp_path / "mine", **asked)
    assert all(hasattr(find(name), "kept") for name in QUESTIONS if find(name).keeps)


@on_cpu
def test_hidden_states_are_planned_with_a_store_and_made_in_memory_without(tmp_path, tiny, many):
    stored = bertscope.geometry([tiny], many, store=tmp_path, sample=60)
    assert stored.equals(bertscope.geometry([tiny], many, sample=60))
    assert sorted(name.partition("-")[0] for name in steps(tmp_path)) == ["geometry", "states"]
    beside = {"against": list(many.text[:30]), "words": 60}
    both = bertscope.similarity([tiny, tiny], many, store=tmp_path, **beside)
    assert both.equals(bertscope.similarity([tiny, tiny], many, **beside))


@pytest.mark.parametrize(
    ("name", "given", "options", "said"),
    [
        ("scratch", (), {}, "scratch is asked of base, task; base and task not given"),
        ("change", ("pocket",), {}, "change is asked of before, after, examples; after and examples not given"),
        (
            "scratch",
            ("pocket", "demo/sentiment"),
            {"config": {}},
            "scratch takes config=ScratchConfig(...), not a dict",
        ),
        ("scratch", ("pocket", "demo/sentiment"), {"limti": 3}, "scratch takes no limti=; did you mean 'limit'?"),
        ("scratch", ("pocket",), {"base": "pocket"}, "scratch is given base twice"),
        ("scratch", (3, "demo/sentiment"), {}, "can't open int as a model; give a name, a folder, a hub id, "),
        (
            "scratch",
            ("pocket", 3),
            {},
            "can't read int as data; give a name or a path, a list of texts or of dicts, ",
        ),
        ("freeze", ("pocket", ["a", "b"]), {}, "list has 2 rows; at least 10 are needed to split it"),
        ("overlap", ("a", "b", "c"), {}, "overlap is asked of lotteries; 3 given; give several lotteries as a list"),
        ("overlap", (["a", "b"],), {"limit": 3}, "overlap takes no limit=; it reads results alone"),
        ("overlap", ("pocket",), {}, "pocket holds no result"),
        ("overlap", (3,), {}, "can't read int as a result; give a Result, or the folder of one"),
        ("freeze", ("pocket", "demo/sentiment"), {"seeds": range(0)}, "seeds are (); give one or more"),
        ("freeze", ("pocket", "demo/sentiment"), {"tuned": []}, "freeze takes no tuned="),
        ("ablate", ("pocket", "demo/sentiment"), {"store": 3}, "can't use int as a store; give the path"),
        ("erase", ("pocket", "demo/corpus"), {"store": "s", "states": 1}, "erase takes states= in memory only"),
    ],
)
def test_mistakes_are_refused(name, given, options, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as caught:
        getattr(bertscope, name)(*given, **options)
    assert str(caught.value).replace(str(tmp_path) + "/", "").startswith(said)
    assert list(tmp_path.iterdir()) == []


def test_data_is_looked_at_first(tmp_path):
    rows = write_reviews(tmp_path / "mine.csv", 20)
    with pytest.raises(UserError, match="mine has no dependency trees"):
        bertscope.structure("pocket", rows, store=tmp_path / "store")
    assert not (tmp_path / "store").exists(), "no hidden states were made before"


def test_claims_of_stored_results(tmp_path):
    folders = [bertscope.Result("overlap", 1).save(tmp_path / name) for name in "ab"]
    for given in (folders, folders[:1]):
        found = bertscope.claims(given, store=tmp_path / "store")
        assert found.equals(bertscope.claims(given)) and found.about.startswith(f"of {len(given)} result")
    with pytest.raises(UserError, match="a stored answer reads stored results; save the result, and give its folder"):
        bertscope.claims([bertscope.Result("overlap", 1)], store=tmp_path / "store")


def test_a_path_is_a_name(tmp_path, tiny, texts):
    """By position, by keyword, alone and in a list."""
    folder = tiny.save(tmp_path / "tiny")
    alone = bertscope.states(model=folder, examples=texts, out=tmp_path / "kept").store
    both = bertscope.project([folder, folder], texts)
    assert list(both.models) == [alone.record.id, f"{alone.record.id}-2"] and (tmp_path / "kept").is_dir()


def test_tokenizers(tmp_path, tiny, toy_task):
    folder = tiny.save(tmp_path / "tiny")
    asked = {"units": ["layer"], "repeats": 100, "permutations": 99, "limit": 8}
    by_object = bertscope.ablate(tiny.model, toy_task, tokenizer=tiny.tokenizer, **asked)
    assert bertscope.ablate(tiny.model, toy_task, tokenizer=folder, **asked).equals(by_object)
    with pytest.raises(UserError, match="doesn't say where its tokenizer is; give tokenizer="):
        bertscope.ablate(tiny.model, toy_task)
    with pytest.raises(
        UserError, match="can't use int as a tokenizer; give one of transformers, its folder, or a hub"
    ):
        bertscope.ablate(tiny.model, toy_task, tokenizer=3)
    with pytest.raises(UserError, match="ablate is given an Encoder, which has its tokenizer; leave out tokenizer="):
        bertscope.ablate(tiny, toy_task, tokenizer=tiny.tokenizer)
    tiny.model.resize_token_embeddings(100)
    with pytest.raises(UserError, match=f"its tokenizer knows {PIECES:,} tokens, the model only 100"):
        bertscope.ablate(tiny.model, toy_task, tokenizer=folder)
    assert np.isfinite(by_object["score"].value)
