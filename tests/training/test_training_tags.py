"""Fine-tuning on tags: a planted task is learnt, from files and from the demo, and the model works elsewhere."""

from __future__ import annotations

import json

import numpy as np
import pytest
from transformers import AutoModelForTokenClassification, AutoTokenizer, pipeline

from bertscope.core.errors import UserError
from bertscope.data.read import read_task
from bertscope.models.load import load
from bertscope.training.finetune.question import FinetuneConfig, finetune

LEARN = FinetuneConfig(epochs=3, learning_rate=1e-3, batch_size=16, warmup=0.1)
PEOPLE, PLACES = ("Anna", "Tom", "Mary", "John"), ("Paris", "London", "Rome")
FILLERS = ("the", "old", "was", "by", "a", "long", "and", "she", "said", "it", "to", "him")


def conll(n: int = 200) -> str:
    """People with their second name, places, and other words, a word on each line."""
    generator = np.random.default_rng(0)
    lines = []
    for _ in range(n):
        rows = [(str(word), "O") for word in generator.choice(FILLERS, generator.integers(2, 8))]
        named = [(str(generator.choice(PEOPLE)), "B-PER"), ("Smith", "I-PER")]
        if generator.random() < 0.5:
            named = [(str(generator.choice(PLACES)), "B-LOC")]
        at = int(generator.integers(len(rows) + 1))
        lines += [f"{word} {tag}" for word, tag in (*rows[:at], *named, *rows[at:])] + [""]
    return "\n".join(lines) + "\n"


@pytest.fixture
def task(tmp_path):
    path = tmp_path / "names.conll"
    path.write_text(conll())
    return read_task(path)


@pytest.mark.slow
def test_tags_are_learnt_and_what_is_saved_is_the_librarys_own(pocket, task, tmp_path):
    before = pocket.fingerprint
    trained = finetune(pocket, task, LEARN, out=tmp_path / "out")
    result, encoder = trained.result, trained.encoder
    assert pocket.fingerprint == before
    assert task.score(encoder.predict(task.test)).value > 0.9
    assert set(result.table["metric"]) == {"entity_f1"}
    assert [number.key for number in result.headline] == ["after", "before", "word_lookup", "chance"]
    opened = load(tmp_path / "out")
    assert (opened.task_head, opened.labels, opened.tuned_on) == ("token-classifier", task.labels, task.fingerprint)
    assert np.array_equal(opened.predict(task.test).logits, encoder.predict(task.test).logits)
    plain = AutoModelForTokenClassification.from_pretrained(tmp_path / "out")
    tag = pipeline("ner", plain, tokenizer=AutoTokenizer.from_pretrained(tmp_path / "out"), device="cpu")
    assert [(each["word"].lower(), each["entity"]) for each in tag("Anna Smith was by Paris")] == [
        ("anna", "B-PER"), ("smith", "I-PER"), ("paris", "B-LOC"),
    ]  # fmt: skip


def test_settings_of_classifiers_are_refused(pocket, task):
    with pytest.raises(UserError, match="names has a token-classifier on top: leave them out"):
        finetune(pocket, task, FinetuneConfig(classifier="relu"))


def test_a_line_tells_it_all(command, tmp_path):
    (tmp_path / "names.jsonl").write_text(
        "".join(
            json.dumps({"tokens": block.split()[::2], "tags": block.split()[1::2]}) + "\n"
            for block in conll(60).strip().split("\n\n")
        )
    )
    code, out, err = command("data", "names.jsonl")
    assert (code, "scored by entity_f1 (chance 0.000)" in out, "PER" in out) == (0, True, True), err
    code, out, err = command("finetune", "pocket", "--on", "names.jsonl", "--epochs", 1, "--out", "model")
    assert code == 0, err
    assert load(tmp_path / "model").labels[0] == "O"
