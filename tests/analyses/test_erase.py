"""`erase`: a model loses what it read, and nothing else; the question, its plan and its mistakes."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForPreTraining, BertForSequenceClassification

import bertscope
from bertscope.analyses.erase.measure import ability_of, learn_erasers
from bertscope.analyses.erase.result import Erasing
from bertscope.analyses.probe.sample import TEST, TRAIN, VALIDATION, draw_sample, text_parts
from bertscope.analyses.probe.targets import Limits, choose_targets
from bertscope.analyses.probe.training import train_probes
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.registry import find
from bertscope.core.store import Store
from bertscope.data.corpus import examples_root
from bertscope.data.task import Task
from bertscope.models.load import load
from bertscope.models.source import model_root
from bertscope.study.runner import run_steps
from device import DEVICE
from made_states import made_store, made_texts
from pocket_facts import PIECES

QUICK = bertscope.EraseConfig(random=3, repeats=100, texts=40)


# A model that reads one direction

MEN, WOMEN = (
    ["king", "man", "boy", "father", "brother", "son"],
    ["queen", "woman", "girl", "mother", "sister", "wife"],
)


OTHERS = ["the", "house", "was", "old", "and", "long", "road", "river"]


@pytest.fixture(scope="module")
def reader(_pocket):
    """A BERT whose every layer adds the mean of its tokens, and whose classifier looks along one direction, in which
    the words for men and women differ."""
    config = BertConfig(
        vocab_size=PIECES, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=8,
        max_position_embeddings=64, num_labels=2,
    )  # fmt: skip
    torch.manual_seed(0)
    model = BertForSequenceClassification(config).eval()
    direction = torch.zeros(16)
    direction[0], direction[1] = 1.0, -1.0
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "LayerNorm" not in name and "word_embeddings" not in name:
                parameter.zero_()
        words = model.bert.embeddings.word_embeddings.weight
        words.copy_(torch.randn(words.shape))
        words -= words @ torch.outer(direction, direction) / 2
        for sign, group in ((1, MEN), (-1, WOMEN)):
            for word in group:
                (number,) = _pocket.tokenizer.convert_tokens_to_ids([word])
                assert number != _pocket.tokenizer.unk_token_id
                words[number] += 3 * sign * direction
        for block in model.bert.encoder.layer:
            block.attention.self.value.weight.copy_(torch.eye(16))
            block.attention.output.dense.weight.copy_(torch.eye(16))
        model.bert.pooler.dense.weight.copy_(torch.eye(16))
        model.classifier.weight.copy_(torch.stack([direction, -direction]))
    return load(model.to(DEVICE), tokenizer=_pocket.tokenizer)


def sentences(n: int, seed: int) -> Examples:
    random = np.random.default_rng(seed)
    label = random.integers(0, 2, n)
    rows = [[*random.choice(OTHERS, 5)] for _ in range(n)]
    for row, of in zip(rows, label, strict=True):
        row.insert(int(random.integers(6)), str(random.choice((MEN, WOMEN)[of])))
    gender = [
        tuple("masculine" if word in MEN else "feminine" if word in WOMEN else "" for word in row) for row in rows
    ]
    words = tuple(tuple(map(str, row)) for row in rows)
    marks = {"gender": tuple(gender), "pos": tuple(tuple("NOUN" if g else "X" for g in of) for of in gender)}
    ids = tuple(f"{seed}:{row}" for row in range(n))
    return Examples(ids, tuple(map(" ".join, words)), words=words, marks=marks, label=label)


@pytest.fixture(scope="module")
def task() -> Task:
    train, validation, test = sentences(60, 1), sentences(30, 2), sentences(80, 3)
    return Task("men or women", "classification", ("men", "women"), train, validation, test, "accuracy")


def test_erasing_what_the_model_reads_costs_the_task_and_a_random_direction_does_not(reader, task):
    config = replace(QUICK, targets=("gender",), random=9, texts=80)
    result = bertscope.erase(reader, sentences(600, 0), config, task=task)
    effects = result.tables["effects"].query("like == 'rank'").set_index("layer")
    assert result["score"].value == 1.0 and list(effects.index) == [0, 1, 2]
    assert result["chance"].value == pytest.approx(0.5, abs=0.2)
    assert (effects["rank"] == 1).all()
    # [CLS] reads the words when they come out of the embeddings; later on it knows, and they may forget.
    assert effects.loc[0, "effect"] < -0.3 and (effects.loc[[1, 2], "effect"] == 0).all()
    assert effects["random"].min() > -0.15 and effects.loc[0, "p_holm"] < 0.05 and effects.loc[0, "excess_high"] < 0
    # The second layer adds the words' mean once more: too little for another answer, but the loss sees it.
    assert effects["used"].tolist() == [True, True, False] and effects.loc[0, "loss_excess_low"] > 0
    assert effects.loc[1, "loss_rise"] < 0.6 * effects.loc[0, "loss_rise"] and effects.loc[2, "loss_rise"] == 0
    assert result["layers_used"].value == 2 and result["layers_used"].of == {"target": "gender"}
    assert {number.key for number in result.headline} == set(bertscope.erase.numbers) - {"masked_lm_loss"}
    check = result.tables["check"].set_index(["vectors", "layer"])["bits"]
    assert check["as_they_are"].min() > 0.9 and check["erased"].abs().max() < 0.05


def test_erasing_what_it_does_not_read_costs_nothing(reader, task):
    """The same words, but labels that have nothing to do with them."""
    examples = sentences(600, 0)
    random = np.random.default_rng(5)
    luck = tuple(tuple(random.choice(["A", "B"]) for _ in row) for row in examples.words)
    examples = replace(examples, marks={"pos": luck})
    result = bertscope.erase(reader, examples, replace(QUICK, random=9, texts=80), task=task)
    assert result.tables["effects"]["effect"].abs().max() < 0.1
    assert result.tables["effects"]["moved"].max() < 0.2


def test_a_models_outputs_are_matched_by_name_and_chance_is_that_of_the_texts_measured(reader, task):
    other = copy.deepcopy(reader.model)
    other.config.id2label = {0: "women", 1: "men"}
    other.config.label2id = {"women": 0, "men": 1}
    with torch.no_grad():
        other.classifier.weight.copy_(other.classifier.weight.flip(0))
    swapped = load(other, tokenizer=reader.tokenizer)
    config = replace(QUICK, targets=("gender",), layers=(0,), texts=7)
    result = bertscope.erase(swapped, sentences(300, 0), config, task=task)
    assert result["score"].value == 1
    chance = result["chance"]
    assert chance.n == 7 and chance.value * 7 == pytest.approx(round(chance.value * 7))


def erasing(examples: Examples, vectors: np.ndarray, **more) -> Erasing:
    (target,), _ = choose_targets(examples, ["pos"], Limits())
    return learn_erasers(target, examples, made_store(examples, [vectors]), [0], Limits(), replace(QUICK, **more))


def labelled(seed: int = 0) -> tuple[Examples, np.ndarray]:
    """Texts of eight words, most with one of two labels, and vectors that don't tell it."""
    random = np.random.default_rng(seed)
    words, pos = random.integers(0, 30, 1200), random.choice(["A", "B", ""], 1200, p=[0.4, 0.4, 0.2])
    return made_texts(words, {"pos": pos}), random.normal(size=(1200, 6))


def test_an_eraser_learns_from_train_alone():
    examples, vectors = labelled()
    moved = vectors.copy()
    moved[np.repeat(text_parts(examples, QUICK.seed), 8) != TRAIN] += 100
    one, other = (erasing(examples, given) for given in (vectors, moved))
    for eraser, again in (
        (one.concept[0], other.concept[0]), *zip(*(each.random[0]["rank"] for each in (one, other)), strict=True),
    ):  # fmt: skip
        np.testing.assert_array_equal(eraser.into, again.into)
        np.testing.assert_array_equal(eraser.out, again.out)


def test_random_subspaces_of_as_much_variance_take_as_much():
    examples, vectors = labelled()
    label = np.array([mark == "A" for row in examples.marks["pos"] for mark in row])
    vectors[:, 0] = 10 * (vectors[:, 0] + label)  # one of six directions has nearly all
    found = erasing(examples, vectors, random=200)
    plain, alike = (np.mean([one.moved for one in found.random[0][like]]) for like in ("rank", "variance"))
    assert plain == pytest.approx(1 / 6, abs=0.05)
    assert alike == pytest.approx(found.concept[0].moved, abs=0.15) and found.concept[0].moved > 0.15


def test_checks_are_scored_on_texts_that_no_probe_learned_from(monkeypatch):
    examples, vectors = labelled()
    seen = []

    def watched(read, reads, answers, classes, train, validation, training):
        probes = train_probes(read, reads, answers, classes, train, validation, training)
        scores = probes.hits_and_losses

        def score(labels, items):
            seen.append([set(sample.target.example[part.cpu()]) for part in (train, validation, items)])
            return scores(labels, items)

        object.__setattr__(probes, "hits_and_losses", score)
        return probes

    (target,), _ = choose_targets(examples, ["pos"], Limits())
    sample = draw_sample(target, examples, Limits(), QUICK.seed, np.ones(len(target), dtype=bool))
    monkeypatch.setattr("bertscope.analyses.erase.measure.train_probes", watched)
    erasing(examples, vectors)
    parts = [set(np.flatnonzero(text_parts(examples, QUICK.seed) == part)) for part in (TRAIN, VALIDATION, TEST)]
    before, after, afresh = seen
    assert before == after == parts
    assert afresh[1] == parts[1] and afresh[0] | afresh[2] == parts[2], "from half of report to the other half"
    assert not afresh[0] & afresh[2] and abs(len(afresh[0]) - len(afresh[2])) <= 3


# The question


@pytest.fixture(scope="module")
def guesser(_pocket):
    config = BertConfig(
        vocab_size=PIECES, hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
        max_position_embeddings=64, initializer_range=0.3,
    )  # fmt: skip
    torch.manual_seed(1)
    return load(BertForPreTraining(config).eval().to(DEVICE), tokenizer=_pocket.tokenizer)


def test_a_masked_language_model_is_measured_by_its_guesses(guesser):
    from bertscope.models.intervene import masked_losses

    examples = bertscope.read_examples("demo/corpus", limit=120)
    result = bertscope.erase(guesser, examples, replace(QUICK, targets=("pos", "gender"), layers=(1, 2)))
    effects = result.tables["effects"]
    assert list(effects["layer"]) == [1, 1, 2, 2] * 2
    assert list(effects["like"]) == ["rank", "variance"] * 4
    held_out = examples.take(np.flatnonzero(text_parts(examples, 0) == TEST))
    assert 10 < len(held_out) <= 40
    losses = masked_losses(guesser, held_out, [None])
    assert result["masked_lm_loss"].value == pytest.approx(losses.sums.sum() / losses.counts.sum())
    np.testing.assert_allclose(effects["effect"] - effects["random"], effects["excess"])
    assert ((effects["random_low"] <= effects["random"]) & (effects["random"] <= effects["random_high"])).all()
    assert "loss_rise" not in effects, "the effect is the loss's rise already"
    assert [figure.key for figure in result.figures] == ["curves", "check"] and result.figures[0].facet == "target"
    labels = [number.label for number in result.numbers(key="change_random", target="gender")]
    assert labels == ["random, same rank: the same, gender", "random, same rank and variance: the same, gender"]


def test_texts_that_were_cut_are_told(guesser):
    long = Examples(tuple(map(str, range(40))), tuple("good " * 100 + str(number) for number in range(40)))
    ability = ability_of(guesser, long, None, QUICK)
    ability.measured([None])
    assert ability.n > 2 and ability.notes == [f"{ability.n} texts are longer than 64 tokens and were cut"]


def test_more_is_worse_of_a_loss(guesser):
    """A random subspace that costs more than the label counts against it, whichever way the measure points."""
    examples = bertscope.read_examples("demo/corpus", limit=120)
    row = bertscope.erase(guesser, examples, replace(QUICK, layers=(1,))).tables["effects"].iloc[0]
    assert row["as_bad"] == 0 or row["random_high"] >= row["effect"]
    assert row["as_bad"] == 3 or row["random_low"] < row["effect"]


def test_asking_for_the_panel_changes_no_other_number(guesser):
    examples = bertscope.read_examples("demo/corpus", limit=120)
    plain, asked = (bertscope.erase(guesser, examples, replace(QUICK, null=null)) for null in (False, True))
    assert plain.tables["effects"].equals(asked.tables["effects"]) and "null" not in plain.tables
    assert asked.tables["null"][["target", "like"]].to_numpy().tolist() == [["pos", "rank"], ["pos", "variance"]]


def test_the_command_plans_states_and_task(tmp_path, tiny):
    folder = tiny.save(tmp_path / "model")
    config = replace(QUICK, task="demo/sentiment", layers=(1,), texts=10)
    step = find("erase").plan(model_root(folder), examples_root("demo/corpus", limit=80), config)
    assert set(step.inputs) == {"model", "examples", "states", "task"}
    assert [before.name for before in step.before()] == ["states"]
    store = Store(tmp_path / "store")
    run_steps([step], store)
    result = store.result(step)
    assert result.subject["task"] == "demo/sentiment" and result["score"].n == 10


def test_mistakes_are_one_line(tiny, guesser):
    examples = bertscope.read_examples("demo/corpus", limit=80)
    with pytest.raises(UserError, match="name the task it was fine-tuned on with --task"):
        bertscope.erase(tiny, examples, QUICK)
    with pytest.raises(UserError, match="has no classifier"):
        bertscope.erase(guesser, examples, QUICK, task="demo/sentiment")
    with pytest.raises(UserError, match="has the layers 0 to 2, not 7"):
        bertscope.erase(guesser, examples, replace(QUICK, layers=(7,)))
    with pytest.raises(UserError, match="unknown target 'label'"):
        replace(QUICK, targets=("label",))
    with pytest.raises(UserError, match="random is 1"):
        replace(QUICK, random=1)
    with pytest.raises(UserError, match="did you mean 'rank'"):
        replace(QUICK, like=("ranks",))
    with pytest.raises(UserError, match="nothing to compare with"):
        replace(QUICK, like=())
    with pytest.raises(UserError, match="nothing to erase"):
        replace(QUICK, targets=())
