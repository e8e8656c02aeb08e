"""`explain`: what is explained of each kind of output, against the library's own outputs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import cosine_similarity

import bertscope
from bertscope.core.errors import UserError
from planted_kinds import PLANTED


@pytest.fixture(scope="module")
def planted(_pocket):
    made = {kind: (one.task(10), one.model(_pocket.tokenizer)) for kind, one in PLANTED.items()}
    return made.__getitem__


def whole(result, row):
    targets = result.tables["targets"]
    return targets[targets["row"] == row]["whole"].to_numpy()


def said(model, *texts, base=False):
    coded = model.tokenizer(*texts, return_tensors="pt").to(model.device)
    with torch.no_grad():
        return (model.model.base_model if base else model.model)(**coded)


def test_the_tag_of_each_word(planted):
    task, model = planted("tokens")
    logits = said(model, task.test.text[0]).logits[0, 1:-1].double().cpu().numpy()  # a piece each
    expected = logits.max(1) - logits.min(1)
    np.testing.assert_allclose(whole(bertscope.explain(model, task), task.test.ids[0]), expected, atol=1e-5)
    one = bertscope.explain(model, task, word=2, towards="B-bad").tables["targets"]
    assert one["of"].tolist() == [f"B-bad of {text.split()[1]}" for text in task.test.text]
    assert one["whole"][0] == pytest.approx(logits[1, 0] - logits[1, 1], abs=1e-5)


def test_tags_outside_are_left_out_unless_they_are_asked_for(planted):
    _, model = planted("tokens")
    names = model.model.config.id2label
    model.model.config.id2label = {0: "O", 1: "B-good"}
    try:
        texts = ["good old house", "bad old house"]
        found = bertscope.explain(model, texts)
        assert found.tables["targets"]["of"].tolist() == [f"B-good of {word}" for word in texts[0].split()]
        assert any("1 text is left out: no word, or nothing that is predicted" in note for note in found.notes)
        every = bertscope.explain(model, texts, words="all").tables["targets"]
        assert every["of"].tolist()[3:] == [f"O of {word}" for word in texts[1].split()]
        with pytest.raises(UserError, match="no text has both a word and a prediction"):
            bertscope.explain(model, texts[1:])
    finally:
        model.model.config.id2label = names


def test_the_answer_s_start_and_end(planted):
    task, model = planted("spans")
    result = bertscope.explain(model, task)
    found = said(model, task.test.text[0], task.test.pair[0])
    start, end = task.test.answers[0][0]
    assert result.tables["targets"]["of"][0] == f"answer: {task.test.pair[0][start:end]}"
    first = len(model.tokenizer(task.test.text[0]).input_ids) + len(task.test.pair[0][:start].split())
    expected = float(found.start_logits[0, first] + found.end_logits[0, first])
    assert whole(result, task.test.ids[0])[0] == pytest.approx(expected, abs=1e-5)


def test_a_candidate_above_the_others(planted):
    task, model = planted("choices")
    result = bertscope.explain(model, task)
    for row in range(3):
        scores = [float(_score(model, task.test.text[row], text)) for text in task.test.choices[row]]
        right = task.test.label[row]
        others = [score for place, score in enumerate(scores) if place != right]
        assert result.tables["targets"]["of"][row] == f"candidate {right + 1}"
        assert result.tables["targets"]["whole"][row] == pytest.approx(scores[right] - np.mean(others), abs=1e-5)
        words = result.tables["words"]
        read = " ".join(words[words["row"] == task.test.ids[row]]["text"])
        assert read == " ".join([task.test.text[row], *task.test.choices[row]])
    third = bertscope.explain(model, task, towards="3").tables["targets"]  # which every second row has
    assert third["row"].tolist() == [
        one for one, texts in zip(task.test.ids, task.test.choices, strict=True) if len(texts) == 3
    ]


def _score(model, text, candidate):
    coded = model.tokenizer(text, candidate, return_tensors="pt").to(model.device)
    with torch.no_grad():
        return model.model(**{name: tensor[None] for name, tensor in coded.items()}).logits[0, 0]


def test_the_cosine_of_two_texts(planted):
    task, model = planted("vectors")
    result = bertscope.explain(model, task)
    own = model.sentence
    vectors = []
    for text in (task.test.text[0], task.test.pair[0]):
        states = said(model, text, base=True).last_hidden_state
        inside = states[:, 1:-1].mean(1) if own is None else own(states, torch.ones_like(states[..., 0]))
        vectors.append(inside)
    expected = float(cosine_similarity(*vectors))
    assert whole(result, task.test.ids[0])[0] == pytest.approx(expected, abs=1e-5)
    words = result.tables["words"]
    read = " ".join(words[words["row"] == task.test.ids[0]]["text"])
    assert read == f"{task.test.text[0]} {task.test.pair[0]}"


def test_a_governor_above_the_others(planted):
    task, model = planted("trees")
    result = bertscope.explain(model, task, word=1)
    targets = result.tables["targets"]
    assert targets["of"].tolist() == [f"root governs {text.split()[0]}" for text in task.test.text]
    text = task.test.text[0]
    states = said(model, text).last_hidden_state  # a piece each
    with torch.no_grad():
        arcs = model.model.parser.arcs(states[:, :-1])[0, 0].double()
    others = torch.cat([arcs[2:]])  # not above the root, and not itself
    assert targets["whole"][0] == pytest.approx(float(arcs[0] - others.mean()), rel=1e-5)


def test_one_output_is_explained_towards_its_label(planted):
    task, model = planted("one_logit")
    found = bertscope.explain(model, task).tables["targets"]
    assert found["of"].tolist() == [task.labels[label] for label in task.test.label]
    logits = [float(said(model, text).logits[0, 0]) for text in task.test.text]
    np.testing.assert_allclose(found["whole"], np.abs(logits), atol=1e-5)


def test_labels_that_are_given(planted):
    task, model = planted("several")
    found = bertscope.explain(model, task).tables["targets"]
    for row, label in zip(task.test.ids, task.test.label, strict=True):
        given = [name for name, there in zip(task.labels, label, strict=True) if there]
        assert found[found["row"] == row]["of"].tolist() == given
    alone = bertscope.explain(model, [task.test.text[0]]).tables["targets"]
    assert alone["of"].tolist() == found[found["row"] == task.test.ids[0]]["of"].tolist()
