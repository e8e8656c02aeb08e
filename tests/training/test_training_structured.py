"""Fine-tuning on spans and on trees: planted tasks are learnt, trainings repeat and resume, all is usable."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT, Examples
from bertscope.data.task import Task
from bertscope.experiments.freeze.question import FreezeConfig, freeze
from bertscope.experiments.scratch.question import TRAININGS, scratch
from bertscope.experiments.scratch.untuned import untuned
from bertscope.experiments.truncate.question import TruncateConfig, truncate
from bertscope.models.load import load
from bertscope.training import loop
from bertscope.training.finetune.question import FinetuneConfig, finetune
from bertscope.training.objective import Labelled
from bertscope.training.task_kinds import with_task_head
from device import DEVICE, on_cpu
from families import MARKED, tiny_model

PLACES = ("house", "river", "road", "room", "train")
FILLERS = ("the", "old", "was", "by", "a", "long", "and", "she", "said", "it", "to", "him")
LEARN = FinetuneConfig(epochs=3, learning_rate=1e-3, batch_size=16, warmup=0.1)
QUICK = FinetuneConfig(epochs=3, learning_rate=2e-3, batch_size=16)
KINDS = ("spans", "trees")
WITHOUT = {("nomic_bert", "spans"), ("eurobert", "spans"), ("gte", "spans")}


def sentence(generator) -> tuple[list[str], int]:
    """Fillers and one place, and where the place is."""
    words = list(generator.choice(FILLERS, generator.integers(2, 9)))
    at = int(generator.integers(len(words) + 1))
    return [*words[:at], str(generator.choice(PLACES)), *words[at:]], at


def spans(name: str, n: int, generator) -> Examples:
    """Where is it? At the place."""
    said = [sentence(generator) for _ in range(n)]
    starts = [len(" ".join([*words[:at], ""])) for words, at in said]
    answers = tuple(((start, start + len(words[at])),) for start, (words, at) in zip(starts, said, strict=True))
    ids = tuple(f"{name} {row}" for row in range(n))
    return Examples(ids, ("where is it ?",) * n, tuple(" ".join(words) for words, _ in said), answers=answers)


def trees(name: str, n: int, generator) -> Examples:
    """All words hang on the place: articles as det, the others as dep."""
    said = [sentence(generator) for _ in range(n)]
    heads = tuple(tuple(ROOT if word == at else at for word in range(len(words))) for words, at in said)
    relations = tuple(
        tuple("root" if word == at else "det" if words[word] in ("the", "a") else "dep" for word in range(len(words)))
        for words, at in said
    )
    return Examples(
        tuple(f"{name} {row}" for row in range(n)), tuple(" ".join(words) for words, _ in said),
        words=tuple(tuple(map(str, words)) for words, _ in said), governors=heads, marks={"relation": relations},
    )  # fmt: skip


def make_task(kind: str, n: int = 160) -> Task:
    generator = np.random.default_rng(0)
    made = spans if kind == "spans" else trees
    splits = [made(name, size, generator) for name, size in (("train", n), ("validation", 40), ("test", 40))]
    if kind == "spans":
        return Task("toy", "spans", (), *splits, "token_f1")
    return Task("toy", "trees", ("dep", "det", "root"), *splits, "las")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_task_is_learnt(pocket, kind, tmp_path):
    before = pocket.fingerprint
    trained = finetune(pocket, make_task(kind), LEARN, out=tmp_path / "model")
    assert pocket.fingerprint == before
    result = trained.result
    assert result["after"].value > 0.95
    blind = ("chance", *{"spans": ("closest_sentence",), "trees": ("left_chain", "right_chain")}[kind])
    assert {*blind, "before", "after"} == {number.key for number in result.headline}
    assert max(result[key].value for key in (*blind, "before")) < 0.6
    assert result["chance"].value == make_task(kind).chance()
    assert result.tables["epochs"]["score"].iloc[-1] > 0.95
    task = make_task(kind)
    assert task.score(result.arrays["outputs"]).value == result["after"].value
    assert not list(tmp_path.glob("*checkpoint*"))


@on_cpu
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_saved_is_what_was_trained(tiny, kind, tmp_path):
    task = make_task(kind)
    trained = finetune(tiny, task, QUICK, out=tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.task_head == {"spans": "span-qa", "trees": "parser"}[kind]
    assert again.fingerprint == trained.encoder.fingerprint and again.name == trained.encoder.name
    assert again.tuned_on == task.fingerprint
    assert np.array_equal(again.predict(task.test).logits, trained.result.arrays["outputs"])


def test_spans_are_a_plain_hugging_face_folder(tiny, tmp_path):
    task = make_task("spans")
    encoder = finetune(tiny, task, QUICK, out=tmp_path / "model").encoder
    plain = AutoModelForQuestionAnswering.from_pretrained(tmp_path / "model").to(encoder.device)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    coded = tokenizer(list(task.test.text), list(task.test.pair), padding=True, return_tensors="pt")
    with torch.no_grad():
        said, wanted = (model(**coded.to(encoder.device)) for model in (plain, encoder.model))
    for ends in ("start_logits", "end_logits"):
        assert said[ends].shape[0] == 40 and torch.allclose(said[ends], wanted[ends], atol=1e-6)


@pytest.mark.slow
@on_cpu
@pytest.mark.parametrize("kind", KINDS)
def test_a_stopped_training_goes_on_to_the_same_weights(tiny, kind, tmp_path, monkeypatch):
    task, plain = make_task(kind), loop.Training.epoch
    whole = finetune(tiny, task, QUICK)
    with monkeypatch.context() as patch:

        def stopping(self, at, bar):
            if at == 3:
                raise KeyboardInterrupt
            return plain(self, at, bar)

        patch.setattr(loop.Training, "epoch", stopping)
        with pytest.raises(KeyboardInterrupt):
            finetune(tiny, task, QUICK, out=tmp_path / "model")
    resumed = finetune(tiny, task, QUICK, out=tmp_path / "model")
    assert resumed.encoder.fingerprint == whole.encoder.fingerprint and resumed.result.equals(whole.result)
    other = finetune(tiny, task, replace(QUICK, seed=1))
    assert other.encoder.fingerprint != whole.encoder.fingerprint


@pytest.mark.parametrize("kind", KINDS)
def test_random_init_and_another_task_after_the_first(tiny, kind):
    task = make_task(kind, n=32)
    once = replace(QUICK, epochs=1)
    random = finetune(tiny, task, replace(once, init="random"))
    assert random.result.subject["init"] == "random" and random.encoder.record.is_random
    other = make_task("trees" if kind == "spans" else "spans", n=32)
    second = finetune(random.encoder, other, once).encoder
    assert second.task_head != random.encoder.task_head and second.tuned_on == other.fingerprint


@on_cpu
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("held", ["embeddings", "embeddings,1-2", "encoder"])
def test_what_is_frozen_stays_and_the_head_learns(tiny, kind, held):
    task = make_task(kind, n=32)
    before, config = with_task_head(tiny, task).model.state_dict(), replace(QUICK, epochs=1, frozen=held)
    after = finetune(tiny, task, config).encoder.model.state_dict()
    same = {name for name in after if torch.equal(before[name], after[name])}
    head = {name for name in after if name.startswith(("parser.", "qa_outputs."))}
    assert head and not head & same
    frozen_layers = {"embeddings": (), "embeddings,1-2": (0, 1), "encoder": (0, 1, 2)}[held]
    for name in after:
        at = [f"layer.{layer}." in name for layer in range(3)]
        if "pooler" not in name:  # nothing reads it
            assert (name in same) == ("embeddings." in name or any(at[layer] for layer in frozen_layers)), name


@pytest.mark.parametrize("kind", KINDS)
def test_layers_left_out_before_the_training(tiny, kind, tmp_path):
    task = make_task(kind, n=32)
    trained = finetune(tiny, task, replace(QUICK, epochs=1, without="3"), out=tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.n_layers == 2 and again.fingerprint == trained.encoder.fingerprint


def test_long_texts_are_read_in_windows_and_it_is_said(tiny):
    task = make_task("spans", n=20)
    pair = tuple(f"{text} {'and so it was . ' * 30}".strip() for text in task.train.pair)
    objective = Labelled(with_task_head(tiny, task), replace(task, train=replace(task.train, pair=pair)))
    assert len(objective.tokens) > 20
    assert objective.notes == (
        f"20 training questions are read in {len(objective.tokens)} windows: their texts are long",
    )


def test_sentences_that_are_cut_are_counted_and_still_train(tiny):
    task = make_task("trees", n=16)
    train = task.train
    long = replace(
        train, words=(train.words[0] + ("and",) * 80, *train.words[1:]),
        governors=((80, *[80] * (len(train.governors[0]) - 1), *[0] * 80), *train.governors[1:]),
        marks={"relation": (train.marks["relation"][0] + ("dep",) * 80, *train.marks["relation"][1:])},
    )  # fmt: skip
    encoder = with_task_head(tiny, task)
    objective = Labelled(encoder, replace(task, train=long))
    assert objective.notes == ("1 training sentence is longer than 64 tokens and was cut",)
    loss = objective.loss(objective.batch(np.arange(16)))
    assert torch.isfinite(loss)


@pytest.mark.parametrize("kind", KINDS)
def test_questions_that_score_take_them_and_refuse_a_model_without_the_task_head(tiny, kind):
    from bertscope import ablate, importance, prune

    task = make_task(kind, n=16)
    encoder = with_task_head(tiny, task)
    found = ablate(encoder, task, units=["head"], repeats=100, permutations=99)
    assert np.isfinite(found.table[["effect", "loss_rise", "kl"]].to_numpy()).all() and len(found.table) > 2
    felt = importance(encoder, task, repeats=100, faithful=False)
    assert np.isfinite(felt["loss"].value)
    for ask in (ablate, importance, prune):
        with pytest.raises(UserError, match=r"has no (span-qa|parser) on top .*fine-tune it first"):
            ask(tiny, task)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", MARKED)
def test_every_family_trains_and_comes_back(family, kind, _pocket, tmp_path):
    task = make_task(kind, n=16)
    base = load(tiny_model(family).to(DEVICE), tokenizer=_pocket.tokenizer)
    if (family, kind) in WITHOUT:
        with pytest.raises(UserError, match="transformers has no head for spans on a"):
            with_task_head(base, task)
        return
    encoder = with_task_head(base, task)
    objective = Labelled(encoder, task)
    loss = objective.loss(objective.batch(np.arange(16)))
    loss.backward()
    lowest = next(parameter for parameter in encoder.layers[0].parameters() if parameter.ndim > 1)
    assert torch.isfinite(loss) and lowest.grad.abs().sum() > 0
    again = load(encoder.save(tmp_path / "model"), device=str(encoder.device))
    assert np.array_equal(again.predict(task.test).logits, encoder.predict(task.test).logits)


@pytest.mark.parametrize("kind", KINDS)
def test_scratch_compares_them_too(tiny, kind):
    task, once = make_task(kind, n=32), replace(QUICK, epochs=1)
    trained = {
        name: [finetune(tiny, task, replace(once, **asdict(training))).result] for name, training in TRAININGS.items()
    }
    result = scratch.compute(**trained, untuned=[untuned(tiny, task)], task=task)
    baselines = {"chance"} | {"spans": {"closest_sentence"}, "trees": {"left_chain", "right_chain"}}[kind]
    assert baselines < set(result.tables["arms"]["arm"])
    assert result.numbers(key="score", arm="tuned")[0].value == trained["tuned"][0]["after"].value
    assert "the commonest answer" in scratch.sentence(result).sentence


@pytest.mark.parametrize("kind", KINDS)
def test_freeze_and_truncate_compare_them_too(tiny, kind):
    task, once = make_task(kind, n=32), replace(QUICK, epochs=1)
    held = [finetune(tiny, task, replace(once, frozen=frozen)).result for frozen in ("", "encoder")]
    frozen = freeze.compute(held, task, config=FreezeConfig(movement=False))
    assert frozen.tables["arms"]["score"].tolist() == pytest.approx([one["after"].value for one in held])
    assert frozen["chance"].value == task.chance()
    config = TruncateConfig(remove=("0", "1"))
    cut = [held[0], finetune(tiny, task, replace(once, without="3")).result]
    found = truncate.compute(tiny, task, cut, config=config)
    assert found.tables["arms"]["score"].tolist() == pytest.approx([one["after"].value for one in cut])


@pytest.mark.parametrize("kind", KINDS)
def test_questions_about_encoders_take_what_was_tuned(tiny, kind, texts):
    from bertscope import change, patterns, similarity

    tuned = with_task_head(tiny, make_task(kind, n=16))
    assert change(tiny, tuned, texts)["cosine"] is not None
    assert patterns(tuned, texts).tables
    assert similarity([tiny, tuned], texts).tables
