"""Taggers: which piece speaks for a word, windows of long sentences, losses, foreign folders, every family."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import BertForTokenClassification

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.output import SILENT
from bertscope.core.units import Unit
from bertscope.data.tagged import make_tokens
from bertscope.data.task import Task
from bertscope.models.judge import judge_without, predict_without
from bertscope.models.load import load
from bertscope.models.outputs.kinds import model_output
from bertscope.models.outputs.tagger import Tagger
from bertscope.models.word_windows import word_windows
from bertscope.training.task_kinds import with_task_head
from families import ALIKE, MARKED, UNEVEN, tiny_model

VOCABULARY = ("anna", "unbelievably", "went", "to", "paris", "yesterday", "homeward", "and", "extraordinary", ".")
TAGS = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")


def sentences(lengths=(3, 200, 1, 90, 12), seed: int = 0) -> Examples:
    """Some are longer than a tiny model reads (64 tokens); words have several pieces."""
    generator = np.random.default_rng(seed)
    words = tuple(tuple(map(str, generator.choice(VOCABULARY, n))) for n in lengths)
    tags = tuple(tuple(map(str, generator.choice(TAGS, n))) for n in lengths)
    ids = tuple(map(str, range(len(lengths))))
    return Examples(ids, tuple(map(" ".join, words)), words=words, marks={"tag": tags})


def task_of(examples: Examples) -> Task:
    return make_tokens("toy", (examples,) * 3)


@pytest.fixture
def tagger(tiny):
    """Random weights large enough that every part matters."""
    made = with_task_head(tiny, task_of(sentences()), seed=3)
    with torch.no_grad():
        weight = made.model.classifier.weight
        weight.copy_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)))  # the same everywhere
    return made


def plain_logits(encoder, words) -> np.ndarray:
    """Each word's logits, by the definition: all windows, and of each word that whose nearer edge is furthest."""
    tokenizer, longest = encoder.tokenizer, encoder.max_length
    pieces = [tokenizer(word, add_special_tokens=False)["input_ids"] for word in words]
    flat = [(at, piece) for at, own in enumerate(pieces) for piece in own]
    size = longest - 2 if len(flat) > longest - 2 else len(flat)
    begins = sorted({*range(0, len(flat) - size, max(size // 2, 1)), len(flat) - size})
    best: dict[int, tuple[int, np.ndarray]] = {}
    for begin in begins:
        window = flat[begin : begin + size]
        ids = [tokenizer.cls_token_id, *(piece for _, piece in window), tokenizer.sep_token_id]
        with torch.no_grad():
            logits = encoder.model(torch.tensor([ids], device=encoder.device)).logits[0, 1:-1].cpu().numpy()
        for word, own in enumerate(pieces):
            first = sum(map(len, pieces[:word]))
            last = first + len(own) - 1
            if begin <= first < begin + size:
                room = min(first - begin, begin + size - 1 - last)
                if word not in best or room > best[word][0]:
                    best[word] = (room, logits[first - begin])
    return np.stack([best[word][1] for word in range(len(words))])


def test_a_words_logits_are_those_of_its_first_piece_where_it_has_most_context(tagger):
    examples = sentences()
    found = tagger.predict(examples, tokens=300)
    assert found.logits.shape == (5, 200, 5) and found.truncated == 0 and found.labels == TAGS
    for row, words in enumerate(examples.words):
        np.testing.assert_allclose(found.logits[row, : len(words)], plain_logits(tagger, words), atol=1e-5)
        assert (found.logits[row, len(words) :] == SILENT).all()


def test_windows_overlap_by_half_and_every_word_is_read_once(tagger):
    examples = sentences()
    windows = word_windows(tagger.tokenizer, examples, 64)
    assert windows.tokens.lengths.max() == 64 and np.bincount(windows.example)[[0, 2, 4]].tolist() == [1, 1, 1]
    row = np.repeat(windows.example, windows.tokens.lengths)
    for at, words in enumerate(examples.words):
        spoken = windows.word[(row == at) & (windows.word >= 0)]
        assert sorted(spoken) == list(range(len(words)))
    first, second = (windows.tokens.fields["input_ids"][start : start + 64] for start in windows.tokens.starts[1:3])
    assert first[1 + 31 : 63].tolist() == second[1 : 1 + 31].tolist()


def test_how_many_sentences_are_read_in_windows_is_said(tagger):
    task = task_of(sentences())
    said = "2 scored sentences are longer than 64 tokens, and read in windows"
    assert said in task.asked_of(tagger).notes and said not in task.notes
    assert not task_of(sentences((3, 4))).asked_of(tagger).notes
    asked = model_output(tagger, task.output)
    assert asked.notes_on(asked.rows(task.train)) == (
        "2 training sentences are longer than 64 tokens, and read in windows",
    )


def test_losses_are_those_of_a_plain_loop_and_batches_make_no_difference(tagger):
    task = task_of(sentences())
    asked = model_output(tagger, task.output)
    for tokens in (70, 4000):
        found = np.zeros((2, len(task.test)))
        for batch in asked.batches(task.test, tokens=tokens, gold=True):
            with torch.no_grad():
                found[:, batch.examples] = torch.stack(asked.losses(asked.run(batch), batch)).cpu().numpy()
        for row, (words, tags) in enumerate(zip(task.test.words, task.test.marks["tag"], strict=True)):
            logits = torch.from_numpy(plain_logits(tagger, words))
            gold = torch.tensor([TAGS.index(tag) for tag in tags])
            wanted = torch.nn.functional.cross_entropy(logits, gold, reduction="sum")
            np.testing.assert_allclose(found[:, row], [float(wanted), len(words)], rtol=1e-5)
    np.testing.assert_allclose(task.losses(tagger.predict(task.test)), found[0] / found[1], rtol=1e-5)


def test_tags_that_mean_the_same_are_one_in_losses_and_divergence(tagger):
    """A model with tags of its own for the last words of entities, and with a type that the task lacks."""
    task, names = task_of(sentences()), ["S-LOC", "O", "E-PER", "B-PER", "I-PER", "B-MISC", "B-LOC", "I-LOC"]
    same = {"O": (1,), "B-LOC": (0, 6), "I-LOC": (7,), "B-PER": (3,), "I-PER": (2, 4)}
    tagger.model.classifier = torch.nn.Linear(tagger.hidden_size, len(names)).to(tagger.device)
    tagger.model.num_labels = tagger.model.config.num_labels = len(names)
    tagger.model.config.id2label = dict(enumerate(names))
    off = [[], [Unit("head", 1, 1)], [Unit("layer", 2)]]
    judged, said = (judge_without(tagger, task.output, task.test, off), predict_without(tagger, task.test, off))
    shares = torch.from_numpy(said.logits).double().softmax(-1).numpy()
    merged = np.stack([*(shares[..., at].sum(-1) for at in map(list, same.values())), shares[..., 5]], -1)
    order = {tag: place for place, tag in enumerate(same)}
    for row, tags in enumerate(task.test.marks["tag"]):
        own = merged[:, row, : len(tags)]
        right = [order[tag] for tag in tags]
        losses = -np.log(own[:, np.arange(len(tags)), right]).mean(-1)
        np.testing.assert_allclose(judged.losses[:, row], losses, atol=1e-5)
        change = (own[0] * np.log(own[0] / own)).sum(-1).mean(-1)
        np.testing.assert_allclose(judged.divergence[:, row], change, atol=1e-5)
    kept = task.divergence(replace(said, logits=said.logits[0]), said)
    np.testing.assert_allclose(judged.divergence, kept, atol=1e-5)


def test_texts_without_marked_words_are_split_by_the_tokenizer(tagger):
    long = " ".join(sentences((120,)).words[0])
    found = tagger.predict(["Anna went, unbelievably.", long])
    assert found.logits.shape == (2, 120, 5)
    np.testing.assert_allclose(found.logits[1], plain_logits(tagger, long.split()), atol=1e-5)
    marked = Examples(("1",), ("-",), words=(("anna", "went", ",", "unbelievably", "."),))
    np.testing.assert_allclose(found.logits[0, :5], tagger.predict(marked).logits[0], atol=1e-5)
    with pytest.raises(UserError, match="tags the words of single texts"):
        tagger.predict(Examples(("1",), ("a",), ("b",)))


def test_a_word_without_a_token_is_silent(tagger):
    found = tagger.predict(Examples(("1",), ("-",), words=(("anna", "\x07", "went"),)))
    assert (found.logits[0, 1] == SILENT).all() and (found.logits[0, [0, 2]] > SILENT).all()


def test_a_foreign_folder_opens_and_is_scored(tagger, tmp_path):
    """Its labels are in another order and in lower case, and one more is there, which it sometimes predicts."""
    task = task_of(sentences())
    order, extra = [3, 1, 0, 4, 2], "B-MISC"
    config = tagger.model.config.__class__(**tagger.model.config.to_dict())
    config.id2label = {**{at: TAGS[one].lower() for at, one in enumerate(order)}, 5: extra}
    config.label2id = {name: at for at, name in config.id2label.items()}
    config.bertscope = {}
    model = BertForTokenClassification(config).eval()
    model.bert.load_state_dict(tagger.model.bert.state_dict())
    with torch.no_grad():
        model.classifier.weight[:5] = tagger.model.classifier.weight[order]
        model.classifier.bias[:5] = tagger.model.classifier.bias[order]
        model.classifier.weight[5] = 0
        model.classifier.bias[5] = -50.0
    model.save_pretrained(tmp_path)
    tagger.tokenizer.save_pretrained(tmp_path)
    opened = load(tmp_path)
    assert opened.task_head == "token-classifier" and opened.labels[:2] == ("b-per", "b-loc")
    asked = task.asked_of(opened)
    own, found = asked.score(tagger.predict(task.test)), asked.score(opened.predict(task.test))
    assert found.value == own.value and found.secondary == own.secondary
    assert found.notes == ("toy has no B-MISC, which the model has: what it predicts of them is wrong",)
    np.testing.assert_allclose(
        task.losses(opened.predict(task.test)), task.losses(tagger.predict(task.test)), atol=1e-5
    )
    with torch.no_grad():
        opened.model.classifier.bias[5] = 50.0  # now it predicts nothing else
    spurious = asked.score(opened.predict(task.test))
    assert spurious.value == 0 and asked.moments(opened.predict(task.test))[:, 1].tolist() == [3, 200, 1, 90, 12]


def test_other_models_are_refused_with_what_to_do(tiny, tagger):
    task = task_of(sentences())
    with pytest.raises(UserError, match=r"has no token-classifier on top \(it is: classifier\); fine-tune it first"):
        task.asked_of(tiny)
    with pytest.raises(UserError, match=r"the model's tags are .* fine-tune it on this task"):
        other = replace(task, labels=("DET", "NOUN"), metric="word_accuracy")
        other.asked_of(tagger)


def test_a_student_is_taught_by_words(tagger):
    task = replace(task_of(sentences((3, 7))), labels=TAGS)
    asked = Tagger(tagger, task.output)
    (batch,) = asked.batches(task.test, gold=True)
    raw = asked.run(batch).detach()
    order = np.argsort(batch.examples)
    teacher = np.full((2, 9, 5), SILENT, dtype=np.float32)  # of a training set with longer sentences
    generator = np.random.default_rng(0)
    for row, n in enumerate((3, 7)):
        teacher[row, :n] = generator.normal(size=(n, 5))
    found = asked.taught(raw, torch.from_numpy(teacher[batch.examples]).to(raw.device), 2.0)
    wanted = []
    for row, n in enumerate((3, 7)):
        student = raw[order[row], :n].cpu() / 2.0
        soft, hard = student.log_softmax(-1), (torch.from_numpy(teacher[row, :n]) / 2.0).log_softmax(-1)
        wanted += ((hard.exp() * (hard - soft)).sum(-1) * 4.0).tolist()
    assert float(found) == pytest.approx(np.mean(wanted), rel=1e-5)


@pytest.mark.parametrize("name", MARKED)
def test_every_family_has_one(name, pocket):
    base = load(tiny_model(name), tokenizer=pocket.tokenizer)
    task = task_of(sentences((3, 70, 12)))
    made = with_task_head(base, task, seed=1)
    assert made.task_head == "token-classifier" and made.labels == TAGS
    whole, off = predict_without(made, task.test, [[], [Unit("head", 2, 1)]]).logits
    with made.gates(off=["head:2.1"]):
        np.testing.assert_allclose(made.predict(task.test).logits, off, atol=1e-4)
    assert np.abs(whole - off).max() > 1e-4


@pytest.mark.parametrize("name", MARKED)
def test_cut_saved_and_opened_again(name, pocket, tmp_path):
    base = load(tiny_model(name), tokenizer=pocket.tokenizer)
    task = task_of(sentences((3, 30)))
    made = with_task_head(base, task, seed=1)
    parts = ALIKE if name == "albert" else UNEVEN
    with made.gates(off=parts):
        wanted = made.predict(task.test).logits
    opened = load(made.cut(parts).save(tmp_path / "cut"))
    assert opened.labels == TAGS
    np.testing.assert_allclose(opened.predict(task.test).logits, wanted, atol=1e-5)
