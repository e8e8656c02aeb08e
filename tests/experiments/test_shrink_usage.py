"""The code on a card, copied and run in the model's folder: with transformers alone, and with onnxruntime."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from transformers import AutoConfig

from bertscope.core.errors import UserError
from bertscope.experiments.shrink.question import shrink
from bertscope.experiments.shrink.usage import opening, opens_alone, usage_of
from bertscope.models.classifier_form import ClassifierForm
from bertscope.models.encoder import Encoder
from bertscope.models.export import write_onnx
from bertscope.models.load import load
from bertscope.models.outputs.deployed import Deployed
from bertscope.models.outputs.kinds import MODEL_OUTPUTS, model_output
from bertscope.training.task_kinds import with_task_head
from families import tiny_config
from planted_outputs import PLANTED

pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")

LABELS = {"id2label": {0: "O", 1: "B-x", 2: "I-x"}, "label2id": {"O": 0, "B-x": 1, "I-x": 2}}
CLASSES = {
    "classifier": "AutoModelForSequenceClassification",
    "token-classifier": "AutoModelForTokenClassification",
    "masked-lm": "AutoModelForMaskedLM",
    "multiple-choice": "AutoModelForMultipleChoice",
}


def tiny(task_head: str, tokenizer, **config) -> Encoder:
    """A random BERT with the library's own task head."""
    torch.manual_seed(3)
    build = getattr(transformers, CLASSES[task_head]).from_config
    model = build(tiny_config("bert", **LABELS | config)).eval()
    base = load(transformers.AutoModel.from_config(model.config), tokenizer=tokenizer)
    return replace(base, model=model, task_head=task_head)


def codes(encoder: Encoder, folder, monkeypatch, *, gives=("logits",), axes=("batch", "length"), **how) -> list[str]:
    """The code on the card of a model that lies in the folder, which is where one is then."""
    encoder.save(folder)
    encoder.model.cpu()
    module, reads = Deployed(encoder.model, names := list(encoder.tokenizer.model_input_names), gives), names
    if encoder.task_head in {one.task_head for one in MODEL_OUTPUTS.values()}:
        asked = model_output(encoder)
        module, reads, gives, axes = asked.deployed(encoder.model), asked.reads, asked.gives, asked.axes
    shape = tuple({"batch": 2, "length": 8}.get(axis, 3) for axis in axes)
    encoder.model.set_attn_implementation("eager")
    sample = {name: torch.ones(shape, dtype=torch.long) for name in reads}
    write_onnx(module, sample, gives, axes, folder / "model.onnx")
    monkeypatch.chdir(folder)
    told = "\n\n".join(opening(encoder, "cut", onnx=True, **how))
    return re.findall(r"^```python\n(.*?)^```$", told, re.DOTALL | re.MULTILINE)


def answers(code: str, **instead: object) -> object:
    """What the code says, with other texts in the place of its own."""
    for ours, theirs in instead.values():
        assert ours in code
        code = code.replace(ours, repr(theirs))
    known: dict = {}
    exec(code, known)
    return known["answers"]


def test_every_task_head_of_an_output_has_a_usage(_tiny):
    for kind in MODEL_OUTPUTS.values():
        usage = usage_of(replace(_tiny, task_head=kind.task_head))
        assert "answers" in usage.onnx


@pytest.mark.slow
def test_spans(_pocket, tmp_path, monkeypatch):
    model, task = PLANTED["spans"].model(_pocket.tokenizer), PLANTED["spans"].task(6)
    _, plain, onnx = codes(model, tmp_path / "m", monkeypatch)
    for row, (question, text) in enumerate(zip(task.test.text, task.test.pair, strict=True)):
        ((start, end),) = task.test.answers[row]
        asked = ('"a question", "the text that it is about"', (question, text))
        assert answers(plain, asked=asked) == answers(onnx, asked=asked) == text[start:end]
    assert usage_of(model).tag == "question-answering"


@pytest.mark.slow
def test_trees(_pocket, tmp_path, monkeypatch):
    model, task = PLANTED["trees"].model(_pocket.tokenizer), PLANTED["trees"].task(6)
    _, onnx = codes(model, tmp_path / "m", monkeypatch)
    found = answers(onnx, texts=('[["a", "text"], ["another"]]', [list(words) for words in task.test.words]))
    wanted = [
        [(governor + 1, relation) for governor, relation in zip(*row, strict=True)]
        for row in zip(task.test.governors, task.test.marks["relation"], strict=True)
    ]
    assert found == wanted and not usage_of(model).tag


@pytest.mark.slow
@pytest.mark.parametrize("several", [False, True])
def test_pairs_and_several_labels(several, _pocket, tmp_path, monkeypatch):
    problem = "multi_label_classification" if several else "single_label_classification"
    model = tiny("classifier", _pocket.tokenizer, problem_type=problem)
    _, plain, onnx = codes(model, tmp_path / "m", monkeypatch, pairs=True)
    rows = [("the food was good", "it was bad"), ("old house", "by the water"), ("a road", "a long river")]
    asked = ('[("a text", "its second text"), ("another", "and its second")]', rows)
    piped, found = answers(plain, asked=asked), answers(onnx, asked=asked)
    inputs = _pocket.tokenizer(*map(list, zip(*rows, strict=True)), padding=True, return_tensors="pt")
    with torch.no_grad():
        logits = model.model(**inputs).logits
    names = np.array(["O", "B-x", "I-x"])
    if several:
        assert found == [names[row].tolist() for row in (logits > 0).numpy()]
        assert [{one["label"] for one in row if one["score"] > 0.5} for row in piped] == [set(row) for row in found]
    else:
        assert found == names[logits.argmax(-1)].tolist() == [one["label"] for one in piped]


def test_several_labels_are_given_from_the_threshold_on_that_was_chosen(_pocket):
    model = tiny("classifier", _pocket.tokenizer, problem_type="multi_label_classification")
    told = "\n".join(opening(model, "cut", onnx=True, threshold=-1.25))
    assert "if size > -1.25] for row in logits]  # a label is given from a probability of 0.223 on" in told
    assert "max_length=64)  # a label is given from a probability of 0.223 on" in told


@pytest.mark.parametrize("form", [ClassifierForm("relu"), ClassifierForm(pooler=False)])
def test_a_classifier_of_another_form_is_not_said_to_open_in_transformers_alone(form, toy_task, _pocket):
    """Which would draw new weights for it, and answer anything."""
    model = with_task_head(_pocket, toy_task, form=form)
    told = "\n".join(opening(model, "cut", onnx=True))
    assert "transformers alone would draw weights for one anew" in told and "pipeline" not in told
    assert not opens_alone(model) and opens_alone(with_task_head(_pocket, toy_task))
    with pytest.raises(UserError, match=r"another classifier than its family's own.*leave out --shape plain"):
        shrink(model, toy_task, shape="plain", force=True)


@pytest.mark.slow
def test_tags(_pocket, tmp_path, monkeypatch):
    model = tiny("token-classifier", _pocket.tokenizer)
    _, plain, onnx = codes(model, tmp_path / "m", monkeypatch)
    words = ["the", "unquestionably", "old", "house"]
    (found,) = answers(onnx, texts=('[["a", "text"], ["another"]]', [words]))
    inputs = _pocket.tokenizer([words], is_split_into_words=True, return_tensors="pt")
    with torch.no_grad():
        logits = model.model(**inputs).logits[0]
    first = [inputs.word_ids(0).index(word) for word in range(len(words))]
    assert found == [model.model.config.id2label[int(logits[at].argmax())] for at in first]
    assert len(answers(plain, texts=('["a text", "another"]', ["the old house", "a road"]))) == 2


@pytest.mark.slow
def test_guesses(_pocket, tmp_path, monkeypatch):
    model = tiny("masked-lm", _pocket.tokenizer)
    _, plain, onnx = codes(model, tmp_path / "m", monkeypatch)
    (guess,) = answers(onnx)
    assert guess == _pocket.tokenizer.convert_ids_to_tokens(answers(plain)[0]["token"])


@pytest.mark.slow
def test_choices(_pocket, tmp_path, monkeypatch):
    model = tiny("multiple-choice", _pocket.tokenizer)
    _, plain, onnx = codes(model, tmp_path / "m", monkeypatch, axes=("batch", "choices", "length"))
    seen = set()
    for row in range(6):
        choices = [f"the {word} house" for word in ("old", "long", "good", "bad")[row % 3 :]] + [f"road {row}"]
        asked = ('["one answer", "another"]', choices)
        chosen = answers(plain, asked=asked)
        assert answers(onnx, asked=asked) == chosen
        seen.add(choices.index(chosen))
    assert len(seen) > 1 and AutoConfig.from_pretrained(".").architectures == ["BertForMultipleChoice"]


@pytest.mark.slow
def test_a_cut_model_of_spans_is_used_as_its_card_says(_pocket, tmp_path, monkeypatch):
    planted = PLANTED["spans"]
    task = planted.task(24)
    model = with_task_head(planted.model(_pocket.tokenizer), task).cut(["head:1.1"])
    told = "\n".join(opening(model, "cut", onnx=False))
    assert "transformers alone can't open" in told and "AutoModelForQuestionAnswering" not in told
