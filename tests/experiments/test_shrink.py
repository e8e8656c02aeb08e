"""shrink from end to end: what is reached, what is written, what is refused. Time is planted."""

from __future__ import annotations

import errno
import json
import re
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import toy
from bertscope.core.errors import UserError
from bertscope.core.result import Result
from bertscope.core.units import Unit
from bertscope.experiments.shrink import measure, reaching
from bertscope.experiments.shrink.costs import block_parameters
from bertscope.experiments.shrink.question import ShrinkConfig, shrink
from bertscope.models.load import load
from families import tiny_model

pytestmark = pytest.mark.usefixtures("clock")
BARE = ShrinkConfig(target="50%", retrain=False, onnx=False)


def score_of(result: Result, arm: str) -> float:
    (score,) = result.numbers(key="score", arm=arm)
    return score.value


def test_half_of_the_parameters(toy_model, toy_task, tmp_path):
    before = toy_model.fingerprint
    shrunk = shrink(toy_model, toy_task, BARE, out=tmp_path / "small")
    assert toy_model.fingerprint == before
    share = block_parameters(*shrunk.encoder.layers) / block_parameters(*toy_model.layers)
    assert 0.4 < share <= 0.5 and shrunk.result["left"].value == pytest.approx(share)
    for arm, encoder in (("whole", toy_model), ("cut", shrunk.encoder)):
        score = toy_task.score(encoder.predict(toy_task.test).logits)
        assert score_of(shrunk.result, arm) == score.value
    assert {number.key for number in shrunk.result.headline} == set(shrink.numbers)
    gold = toy_task.test.label
    right = [encoder.predict(toy_task.test).logits.argmax(-1) == gold for encoder in (toy_model, shrunk.encoder)]
    changed = shrunk.result.tables["versus"].set_index("arm").loc["cut"]
    assert (changed["fixed"], changed["broken"]) == ((~right[0] & right[1]).sum(), (right[0] & ~right[1]).sum())
    recall = shrunk.result.tables["changed_by_label"].query("measure == 'recall'").set_index("label")
    for at, label in enumerate(toy_task.labels):
        assert recall.loc[label, ["a", "b"]].tolist() == pytest.approx([one[gold == at].mean() for one in right])
    assert list(shrunk.result.models) == [toy_model.id]
    assert shrunk.result.subject == {"task": "toy", "target": "50%"}
    on_disk = (tmp_path / "small" / "model.safetensors").stat().st_size / 1e6
    (size,) = shrunk.result.numbers(key="size", arm="cut")
    assert (size.value, size.label) == (pytest.approx(on_disk, rel=0.02), "size, cut")
    files = {path.name for path in (tmp_path / "small").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "README.md"} <= files
    assert not any(name.endswith(".onnx") for name in files)
    said = json.loads((tmp_path / "small" / "config.json").read_text())["bertscope"]
    assert said["shrunk"] is True and said["name"].endswith(", 50%")
    assert not any(unit.startswith("neuron:") for unit in said["cut"][-1])


@pytest.mark.slow
def test_it_opens_in_a_new_process_with_the_same_logits(toy_model, toy_task, tmp_path):
    shrunk = shrink(toy_model, toy_task, replace(BARE, target="30%"), out=tmp_path / "small")
    script = (
        "import sys, numpy as np\nfrom bertscope import load\nfrom bertscope.core.examples import Examples\n"
        "texts = tuple(sys.argv[4:])\n"
        "np.save(sys.argv[2], load(sys.argv[1], device=sys.argv[3]).predict(Examples(texts, texts)).logits)"
    )
    out = tmp_path / "logits.npy"
    given = [tmp_path / "small", out, str(shrunk.encoder.device), *toy_task.test.text[:20]]
    subprocess.run([sys.executable, "-c", script, *given], check=True)
    assert np.array_equal(np.load(out), shrunk.encoder.predict(toy_task.test.take(range(20))).logits)


@pytest.mark.parametrize("distill", [False, True])
def test_training_brings_back_what_cutting_cost(toy_model, toy_task, distill):
    hard = replace(BARE, target="5%", step=0.5)
    cut = score_of(shrink(toy_model, toy_task, hard).result, "cut")
    trained = shrink(toy_model, toy_task, replace(hard, retrain=True, distill=distill, epochs=8, learning_rate=2e-3))
    assert cut < 0.9 < score_of(trained.result, "cut")
    assert "trained once, for 8 more epochs" in " ".join(trained.result.notes)
    change = trained.result["change"]
    assert change.low <= change.value <= change.high


def test_the_furthest_cut_that_keeps_the_score(toy_model, toy_task):
    config = replace(BARE, target="5 points", step=0.12)
    work = measure.Shrinking(toy_model, toy_task, config, None)
    found = reaching.reach(work, work.target)
    score = work.validation_score(toy_model.cut(found.off)).value
    assert score >= work.score.value - 0.05
    if found.steps < len(found.search.ways):
        assert work.validation_score(toy_model.cut(found.search.ways[found.steps])).value < work.score.value - 0.05
    assert len(shrink(toy_model, toy_task, config).result.tables["steps"]) == found.steps


def test_a_plain_shape_opens_in_plain_transformers(toy_model, toy_task, tmp_path):
    from transformers import AutoModelForSequenceClassification

    shrunk = shrink(toy_model, toy_task, replace(BARE, shape="plain"), out=tmp_path / "small")
    plain = AutoModelForSequenceClassification.from_pretrained(tmp_path / "small").eval()
    assert plain.config.num_hidden_layers == shrunk.encoder.n_layers
    assert np.array_equal(load(plain, tokenizer=toy_model.tokenizer).predict(toy_task.test).logits,
                          shrunk.encoder.predict(toy_task.test).logits)  # fmt: skip
    text = (tmp_path / "small" / "README.md").read_text()
    assert "plain transformers model" in text and text.startswith("---\nlibrary_name: transformers\n")


def test_the_card_has_the_numbers(toy_model, toy_task, tmp_path):
    result = shrink(toy_model, toy_task, BARE, out=tmp_path / "small").result
    text = (tmp_path / "small" / "README.md").read_text()
    assert text.startswith("---\nlibrary_name: bertscope\n")  # transformers can't open it
    assert f"{score_of(result, 'cut'):.3f} [" in text and "target: 50%" in text
    assert f"\n{toy_model.name}, cut for toy by" in text
    assert "1 thread" in text and "model.onnx" not in text
    changed = result.tables["versus"].set_index("arm").loc["cut"]
    assert f"- cut: of 128 test rows {changed['fixed']:.0f} fixed, {changed['broken']:.0f} broken (p " in text
    layers = result.tables["layers"]
    for layer in range(1, 5):
        row = layers[layers["layer"] == layer].set_index("part")["left"]
        wanted = "gone | gone" if not row["layer"] else f"{row['heads']} of 4 | {row['neurons']} of 48"
        assert f"| {layer} | {wanted} |" in text


def pruned_result(units: dict[str, bool], question="prune", votes=None) -> Result:
    table = pd.DataFrame({"unit": list(units), "survives": list(units.values())})
    arrays = {} if votes is None else {"survivors": np.array(votes, dtype=np.uint8)}
    return Result(question, 1, tables={"survivors": table}, arrays=arrays)


def test_a_stored_mask_is_cut_and_nothing_else(toy_model, toy_task):
    mask = pruned_result({"head:1.1": False, "head:1.2": True, "mlp:3": False})
    result = shrink(toy_model, toy_task, replace(BARE, target=None), pruned=mask).result
    assert result.arrays["heads"].sum() == 15 and result.arrays["neurons"].sum(1).tolist() == [48, 48, 0, 48]
    assert result.subject["target"] == "pruned" and "steps" not in result.tables
    further = shrink(toy_model, toy_task, replace(BARE, target="70%"), pruned=mask).result
    assert not further.arrays["heads"][0, 0] and not further.arrays["neurons"][2].any()
    assert further["left"].value <= 0.7


def test_a_mask_alone_may_be_good_enough_but_not_beyond(toy_model, toy_task):
    mask = pruned_result({"head:1.1": False})
    config = replace(BARE, target="0.1 points", step=0.5)
    works = {name: measure.Shrinking(toy_model, toy_task, config, mask) for name in ("alone", "neither")}
    for name, work in works.items():
        good = [frozenset(work.pruned)] if name == "alone" else []
        work.finished = lambda off: frozenset(off)
        work.validation_score = lambda off, good=good: SimpleNamespace(value=float(off in good))
        work.score = SimpleNamespace(value=1.0)
    found = reaching.reach(works["alone"], works["alone"].target)
    assert found.off == {Unit("head", 1, 1)} and found.steps == 0
    with pytest.raises(UserError, match=r"0\.1 points can't be reached: what was pruned costs more .*--pruned"):
        reaching.reach(works["neither"], works["neither"].target)


def test_a_lottery_votes(toy_model, toy_task):
    votes = [[0, 1, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]]  # half of the seeds aren't enough
    mask = pruned_result({"head:1.1": False, "head:1.2": True, "mlp:3": True}, "lottery", votes)
    result = shrink(toy_model, toy_task, replace(BARE, target=None), pruned=mask).result
    assert np.argwhere(~result.arrays["heads"]).tolist() == [[0, 0]] and result.arrays["neurons"].all()


def test_masks_that_do_not_fit_are_refused(toy_model, toy_task):
    with pytest.raises(UserError, match=r"doesn't say which heads and MLPs survived; give a prune \(--method s\)"):
        shrink(toy_model, toy_task, BARE, pruned=Result("prune", 1))
    with pytest.raises(UserError, match=r"head:1\.9: layer 1 has heads 1 to 4"):
        shrink(toy_model, toy_task, BARE, pruned=pruned_result({"head:1.9": False}))
    with pytest.raises(UserError, match="a plain shape and a mask"):
        shrink(toy_model, toy_task, replace(BARE, shape="plain"), pruned=pruned_result({"head:1.1": False}))
    with pytest.raises(UserError, match="layers have different numbers of heads or neurons already, which no plain"):
        shrink(toy_model.cut(["mlp:2"]), toy_task, replace(BARE, shape="plain"))


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("1000x", r"1000x can't be reached: .* cut to one layer with one head and no MLP is about [\d.]+x as fast on "
         "this machine, 32 texts at a time; ask for less"),
        ("1%", r"1% can't be reached: .* is [\d.]+% of its blocks; ask for less"),
        ("many", "'many' is no target"),
    ],
)  # fmt: skip
def test_targets_that_can_not_be_reached(toy_model, toy_task, tmp_path, target, line):
    with pytest.raises(UserError, match=line):
        shrink(toy_model, toy_task, replace(BARE, target=target), out=tmp_path / "small")
    assert not list(tmp_path.iterdir())


def test_models_that_can_not_be_shrunk(toy_task, _pocket, toy_model, tmp_path):
    with pytest.raises(UserError, match="has one block for many layers, and a cut in one would be a cut in all"):
        shrink(load(tiny_model("albert", num_labels=2), tokenizer=_pocket.tokenizer), toy_task, BARE)
    with pytest.raises(UserError, match="has no classifier on top"):
        shrink(_pocket, toy_task, BARE)
    with pytest.raises(UserError, match=r"isn't clearly above chance on toy \(validation: 0\.\d+ .* --force"):
        shrink(toy.fresh(toy_task, _pocket.tokenizer), toy_task, BARE)
    with pytest.raises(UserError, match="gives 2 outputs, the task needs 1"):
        shrink(toy_model, toy.task(regression=True), BARE)
    assert shrink(toy.fresh(toy_task, _pocket.tokenizer), toy_task, replace(BARE, target="90%", force=True))


def test_a_shrunk_model_can_be_shrunk_again(toy_model, toy_task, tmp_path):
    once = shrink(toy_model, toy_task, replace(BARE, target="60%"), out=tmp_path / "once").encoder
    again = load(tmp_path / "once")
    result = shrink(again, toy_task, replace(BARE, target="1.3x"), out=tmp_path / "twice").result
    assert result.numbers(key="faster", texts=32)[0].value >= 1.3
    twice = load(tmp_path / "twice")
    assert sum(twice.neuron_counts) + sum(twice.head_counts) < sum(once.neuron_counts) + sum(once.head_counts)
    said = twice.model.config.bertscope
    assert len(said["cut"]) == len(toy_model.model.config.bertscope["cut"]) + 2
    assert said["name"] == "BertForSequenceClassification, 60%, 1.3x"


def test_a_full_disk_is_one_line_and_leaves_nothing(toy_model, toy_task, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(measure, "card", full)
    with pytest.raises(UserError, match=r"cannot write .*small: the disk is full"):
        shrink(toy_model, toy_task, BARE, out=tmp_path / "small")
    assert not list(tmp_path.iterdir())


def test_what_was_there_before_stays_unless_we_wrote_it(toy_model, toy_task, tmp_path):
    theirs = toy_model.save(tmp_path / "theirs")  # a model of ours, and a card of theirs
    (theirs / "README.md").write_text("years of work")
    with pytest.raises(UserError, match=r"it is another thing of bertscope's \(model, not export\)"):
        shrink(toy_model, toy_task, BARE, out=theirs)
    assert (theirs / "README.md").read_text() == "years of work"
    shrink(toy_model, toy_task, BARE, out=tmp_path / "small")
    (tmp_path / "small" / "notes.md").write_text("also theirs")
    with pytest.raises(UserError, match=r"it holds notes\.md, which bertscope didn't write"):
        shrink(toy_model, toy_task, BARE, out=tmp_path / "small")
    (tmp_path / "small" / "notes.md").unlink()
    shrink(toy_model, toy_task, replace(BARE, target="60%"), out=tmp_path / "small")
    assert "60%" in (tmp_path / "small" / "README.md").read_text()


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"target": "2"}, "'2' is no target"), ({"shape": "square"}, "unknown shape 'square'"),
        ({"timed_on": "gpu"}, "unknown timed-on 'gpu'"), ({"batch": 0}, "batch is 0"), ({"rows": 0}, "rows is 0"),
        ({"step": 0.0}, "step is 0.0"), ({"step": 0.9}, "step is 0.9"), ({"temperature": 0.0}, "temperature is 0.0"),
        ({"epochs": 0}, "epochs is 0"),
    ],
)  # fmt: skip
def test_settings_that_can_not_work(settings, line):
    with pytest.raises(UserError, match=re.escape(line)):
        ShrinkConfig(**settings)


def test_the_command_takes_a_mask_stores_its_answer_and_writes_the_model(toy_model, toy_task, tmp_path, command):
    toy_model.save("tuned")
    pruned_result({"head:1.1": False}).save("step/result")  # as in a store
    rows = zip(toy_task.train.text, toy_task.train.label, strict=True)
    lines = ["text,label", *(f"{text},{toy_task.labels[label]}" for text, label in rows)]
    (tmp_path / "toy.csv").write_text("\n".join(lines))
    words = "shrink tuned --on toy.csv --target 60% --no-onnx --no-retrain --pruned step --out small"
    for how in ("running", "stored "):
        code, out, err = command(*words.split())
        assert code == 0 and f"{how}  shrink" in err
        assert "of the blocks' parameters" in out and "written to small" in out
    (stored,) = (tmp_path / "bertscope-store" / "steps").iterdir()
    assert not Result.load(stored / "result").arrays["heads"][0, 0]
    assert load(stored / "model").fingerprint == load("small").fingerprint
    assert (tmp_path / "small" / "README.md").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert", "distilbert"])
def test_onnx_files_and_the_code_on_the_card_work(name, toy_task, _pocket, tmp_path, monkeypatch):
    pytest.importorskip("onnxscript")
    model = toy.learned(toy_task, _pocket.tokenizer, name)
    shrunk = shrink(model, toy_task, ShrinkConfig(target="30%", retrain=False), out=tmp_path / "small")
    models = shrunk.result.tables["models"].set_index("arm")
    assert models["model"].to_dict() == {
        "whole": "whole", "cut": "cut", "whole_onnx": "whole, onnxruntime", "whole_int8": "whole, int8",
        "cut_onnx": "cut, onnxruntime", "cut_int8": "cut, int8",
    }  # fmt: skip
    assert models.loc["cut_onnx", "score"] == models.loc["cut", "score"]
    assert models.loc["cut_int8", "megabytes"] < 0.5 * models.loc["cut", "megabytes"]
    assert score_of(shrunk.result, "cut_int8") == models.loc["cut_int8", "score"]
    told = (tmp_path / "small" / "README.md").read_text()
    assert shrunk.best == "cut_int8" and 'InferenceSession("model-int8.onnx")' in told  # the smallest
    monkeypatch.chdir(tmp_path / "small")
    session: dict = {}
    told = told.replace('Session("model-int8.onnx")', 'Session("model.onnx")')
    blocks = re.findall(r"^```python\n(.*?)^```$", told, re.DOTALL | re.M)
    assert len(blocks) == 2
    for code in blocks:
        exec(code, session)
    texts = toy.split(2, 0)
    inputs = session["tokenizer"](list(texts.text), padding=True, return_tensors="np")
    logits = session["session"].run(["logits"], {name: inputs[name] for name in model.tokenizer.model_input_names})[0]
    assert np.allclose(logits, shrunk.encoder.predict(texts).logits, atol=1e-4) and session["logits"].shape == (2, 2)
