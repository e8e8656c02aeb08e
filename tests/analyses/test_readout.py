"""`readout`: planted layers are where texts settle, a planted linear map is seen through, controls find nothing; the
last layer is the model itself; every kind of output is read."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import Ridge
from torch import nn

from bertscope.analyses.readout.question import ReadoutConfig, readout
from bertscope.core.errors import UserError
from bertscope.models.load import load
from bertscope.models.new_task_head import with_random_weights
from bertscope.models.outputs.kinds import MODEL_OUTPUTS, model_output
from families import tiny_model
from output_runs import models
from toy import fresh, learned, task

QUICK = {"repeats": 200}


@pytest.fixture(scope="module")
def toy(toy_task, _toy_model):
    return toy_task, _toy_model


@pytest.fixture(scope="module")
def found(toy):
    made, encoder = toy
    return readout(encoder, made, **QUICK)


def rows(result, reading):
    table = result.tables["layers"]
    return table[table["reading"] == reading].set_index("layer")


def silent(block, family):
    """Let a layer of a pre-norm family hand on what it gets."""
    for part in (family.projection, family.mlp_out):
        linear = block.get_submodule(part)
        nn.init.zeros_(linear.weight)
        nn.init.zeros_(linear.bias)


def only_layer(number, made, tokenizer):
    """A model in which one layer alone does something."""
    config = {"num_hidden_layers": 4, "num_labels": len(made.labels) or 1}
    model = tiny_model("roberta-prelayernorm", **config)
    model.config.problem_type = "single_label_classification" if made.labels else "regression"
    model.config.id2label = dict(enumerate(made.labels or ("score",)))
    encoder = load(model, tokenizer=tokenizer)
    for place, block in enumerate(encoder.layers, start=1):
        if place != number:
            silent(block, encoder.family)
    return encoder


@pytest.mark.parametrize("number", [1, 3])
def test_texts_settle_in_the_only_layer_that_does_something(number, _pocket):
    """Below it the first token is the same in all texts, above it everything is as it will be."""
    made = task(regression=True)
    result = readout(only_layer(number, made, _pocket.tokenizer), made, close=1e-4, **QUICK)
    table = result.tables["settle"]
    plain = table[table["reading"] == "plain"].set_index("layer")["texts"]
    assert plain[number] == len(made.test) == plain.sum()
    assert (result.tables["rows"]["settle_plain"] == number).all()
    assert result.numbers(key="settle_most", reading="plain")[0].value == number
    layers = rows(result, "plain")
    above = layers.loc[number:, ["change", "change_low", "change_high", "loss_change_low", "loss_change_high"]]
    np.testing.assert_allclose(above, 0, atol=1e-6)
    np.testing.assert_allclose(layers["agreement"], layers.index >= number)
    np.testing.assert_allclose(layers["settled"], layers.index >= number)


def test_a_label_that_was_right_by_luck_has_settled_below(_pocket):
    """Layers below give all texts one label: those that have it in the end have it from there on."""
    made = task()
    encoder = only_layer(2, made, _pocket.tokenizer)
    head = encoder.model.classifier.out_proj  # so that both labels are given
    said = encoder.predict(made.test).logits
    with torch.no_grad():
        head.bias[0] -= float(np.median(said[:, 0] - said[:, 1]))
    result = readout(encoder, made, controls=False, **QUICK)
    final = encoder.predict(made.test).logits.argmax(1)
    settled = result.tables["rows"]["settle_plain"].to_numpy()
    assert set(settled) == {0, 2} and 0.2 < final.mean() < 0.8
    assert len(set(final[settled == 0])) == len(set(final[settled == 2])) == 1
    labels = result.tables["labels"].set_index(["reading", "label"])["settle"]
    for place, label in enumerate(made.labels):
        assert labels["plain", label] == pytest.approx(settled[made.test.label == place].mean())


def test_a_linear_map_is_seen_through_by_the_shortcut_alone(toy):
    """The last layer turns the states of the one below by a matrix, and does nothing else."""
    made, encoder = toy
    planted = load(copy.deepcopy(encoder.model), tokenizer=encoder.tokenizer)
    last = planted.model.bert.encoder.layer[-1]
    for dense in (last.attention.output.dense, last.output.dense):
        nn.init.zeros_(dense.weight)
        nn.init.zeros_(dense.bias)
    last.attention.output.LayerNorm = nn.Identity()
    turned = nn.Linear(32, 32)
    turned.weight.data = -torch.eye(32) - 0.1 * torch.randn(32, 32, generator=torch.Generator().manual_seed(0))
    last.output.LayerNorm = turned.eval().requires_grad_(False)
    with torch.no_grad():  # the pooler turns it back
        dense = planted.model.bert.pooler.dense
        dense.weight.copy_(dense.weight @ turned.weight.inverse())
        dense.bias.sub_(dense.weight @ turned.bias)
    result = readout(planted, made, **QUICK)
    through, plain = rows(result, "shortcut"), rows(result, "plain")
    assert through.loc[4, "score"] == through.loc[3, "score"] == 1
    assert through.loc[3, "loss"] == pytest.approx(through.loc[4, "loss"], abs=1e-4)
    assert through.loc[3, "explained"] == pytest.approx(1, abs=1e-5) and through.loc[3, "agreement"] == 1
    assert plain.loc[3, "score"] < 0.9 and plain.loc[3, "kl"] > 100 * through.loc[3, "kl"]
    assert (result.tables["rows"]["settle_shortcut"] <= 3).all()
    assert result.tables["rows"]["settle_plain"].max() == 4


def test_the_last_layer_is_the_model(found, toy):
    made, encoder = toy
    predicted = encoder.predict(made.test)
    score = made.score(predicted)
    for reading in ("plain", "shortcut"):
        last = rows(found, reading).loc[encoder.n_layers]
        assert (last["score"], last["change"], last["kl"], last["agreement"]) == (score.value, 0, 0, 1)
        assert last["loss"] == pytest.approx(made.losses(predicted).mean(), abs=1e-6)
        assert (last["low"], last["high"]) == (score.low, score.high) and score.low < 1, (
            "all are right, which proves little"
        )
    assert found["score"].value == score.value
    assert (
        "permuted" in set(found.tables["layers"]["reading"]) and encoder.n_layers not in rows(found, "permuted").index
    )
    table = found.tables["settle"].groupby("reading")
    assert (table["texts"].sum() == len(made.test)).all() and np.allclose(table["share"].sum(), 1)


def test_readings_are_those_that_are_made_by_hand(found, toy):
    """From the library's states, scikit-learn's ridge and the model's own modules."""
    made, encoder = toy
    random = with_random_weights(encoder, 0)

    def states(model, examples):
        inputs = model.tokenizer(list(examples.text), padding=True, return_tensors="pt").to(model.device)
        with torch.inference_mode():
            given = model.model.bert(**inputs, output_hidden_states=True).hidden_states
        return torch.stack([each[:, 0] for each in given]).double().cpu().numpy()

    def loss(last):
        first = torch.from_numpy(last).float().to(encoder.device)[:, None]
        with torch.inference_mode():
            logits = encoder.model.classifier(encoder.model.bert.pooler(first)).double().cpu()
        return float(nn.functional.cross_entropy(logits, torch.from_numpy(made.test.label)))

    train, test = states(encoder, made.train), states(encoder, made.test)
    for layer in (1, 2, 3):
        assert rows(found, "plain").loc[layer, "loss"] == pytest.approx(loss(test[layer]), abs=1e-5)
        for reading, model in (("shortcut", encoder), ("random", random)):
            x, given = states(model, made.train)[layer], states(model, made.test)[layer]
            row = rows(found, reading).loc[layer]
            ridge = Ridge(alpha=row["penalty"] * x.var(0).mean() * len(x)).fit(x, train[-1])
            assert row["loss"] == pytest.approx(loss(ridge.predict(given)), abs=2e-3)


def test_permuted_targets_give_chance_and_nothing_certain(found, toy):
    made, _ = toy
    permuted = rows(found, "permuted")
    assert (permuted["low"] <= made.chance()).all() and (permuted["explained"] < 0.05).all()
    lead = found.numbers(key="lead", reading="permuted")[0]
    assert lead.low > 0
    means = {name: rows(found, name).loc[:3, "score"].mean() for name in ("shortcut", "permuted")}
    assert lead.value == pytest.approx(means["shortcut"] - means["permuted"])


def test_an_untrained_model_has_no_answer_anywhere(_pocket):
    made = task()
    result = readout(fresh(made, _pocket.tokenizer), made, **QUICK)
    assert not result.numbers(key="there") and len(result.numbers(key="settle_most")) == 4
    assert any("not clearly above chance" in note for note in result.notes)
    assert (rows(result, "plain")["low"] <= made.chance() + 0.05).all()


def test_numbers_are_what_the_tables_say(found):
    for reading in ("plain", "shortcut"):
        settled = found.tables["rows"][f"settle_{reading}"]
        layers = rows(found, reading)
        assert found.numbers(key="settle", reading=reading)[0].value == settled.median()
        most = found.numbers(key="settle_most", reading=reading)[0]
        assert most.value == layers.index[layers["settled"] >= 0.9][0] and most.of["share"] == "90%"
        np.testing.assert_allclose(layers["settled"], [(settled <= layer).mean() for layer in layers.index])
        there = found.numbers(key="there", reading=reading)[0]
        chance = layers["score"].iloc[-1] - 1 + 70 / 128
        assert there.value == layers.index[layers["score"] >= chance + 0.9 * (1 - chance)][0]
        assert there.low <= there.value <= there.high
    latest = found.tables["latest"]
    assert len(latest) == 20 and (latest["settle_shortcut"] == settled.max()).all()
    told = readout.sentence(found)
    assert told.main == found.numbers(key="settle_most", reading="shortcut")[0].value
    assert told.sentence == (
        "90% of the texts have their final prediction from layer 1 on through a linear shortcut, and from layer 1 on "
        "when read plainly (through a shortcut to permuted states: layer 4); from layer 1 on, the score has 90% of "
        "its final lead over chance."
    )
    assert str(found.numbers(key="settle_most", reading="permuted")[0]) == "4 [4, 4]"


def test_of_scores_what_is_near_stays(_pocket):
    made = task(regression=True)
    encoder = learned(made, _pocket.tokenizer)
    results = [readout(encoder, made, close=close, controls=False, **QUICK) for close in (0.0, 0.25, 100.0)]
    settled = [result.tables["rows"]["settle_shortcut"] for result in results]
    assert (settled[0] == 4).all() and (settled[2] == 0).all() and 0 < settled[1].mean() < 4
    assert any("within 0.25 standard deviations" in note for note in results[1].notes)
    assert "random" not in set(results[1].tables["layers"]["reading"]) and not results[1].numbers(key="lead")


@pytest.mark.parametrize("family", ["bert", "modernbert"])
@pytest.mark.parametrize("kind", MODEL_OUTPUTS)
def test_every_kind_of_output_is_read(kind, family, _pocket):
    _, model, asked = models(kind, family, _pocket.tokenizer)
    result = readout(model, asked, repeats=100)
    layers = result.tables["layers"]
    assert set(layers["reading"]) == {"plain", "shortcut", "permuted", "random"}
    asked = asked.asked_of(model)
    score = asked.score(model.predict(asked.test, asked.output))
    assert rows(result, "plain")["score"].iloc[-1] == pytest.approx(score.value, abs=1e-6)
    assert np.isfinite(layers.drop(columns=["reading", "penalty", "explained"]).to_numpy(float)).all()
    own = rows(result, "shortcut")["explained"].iloc[:-1]
    assert len(own) == model.n_layers and (own.dropna() > -1).all()
    assert ("rank" in layers) == (kind == "masked")


def test_the_rank_of_a_masked_piece(_pocket):
    _, model, asked = models("masked", "bert", _pocket.tokenizer)
    result = readout(model, asked, repeats=100, fit=0)
    asked = asked.asked_of(model)
    ranks = []
    output = model_output(model, asked.output)
    with torch.inference_mode():
        for batch in output.batches(asked.test):
            logits = model.model(**batch.inputs).logits.cpu().numpy()
            right = batch.marks["right"].cpu().numpy() - 2
            for row, place in zip(*np.nonzero(right != -2), strict=True):
                order = np.argsort(-logits[row, place])
                ranks.append(1 + int(np.flatnonzero(order == right[row, place])[0]))
    assert len(ranks) > 20
    assert result["rank"].value == pytest.approx(np.exp(np.log(ranks).mean()), rel=1e-5)
    assert result["rank"].low < result["rank"].value < result["rank"].high


def test_without_training_texts_layers_are_read_plainly(toy):
    made, encoder = toy
    for lacking in (replace(made, train=made.train.take([])), replace(made, validation=made.validation.take([]))):
        result = readout(encoder, lacking, **QUICK)
        assert set(result.tables["layers"]["reading"]) == {"plain"}
        assert any("layers are only read plainly" in note for note in result.notes)
        assert "read plainly" not in readout.sentence(result).sentence
        assert "settle_shortcut" not in result.tables["rows"]
    asked = readout(encoder, made, fit=0, **QUICK)
    assert set(asked.tables["layers"]["reading"]) == {"plain"}
    assert not any("plainly" in note for note in asked.notes)
    pd.testing.assert_frame_equal(asked.tables["layers"], result.tables["layers"])


def test_fewer_training_texts_can_be_asked_for(toy):
    made, encoder = toy
    result = readout(encoder, made, fit=50, controls=False, rows=10, **QUICK)
    assert "shortcuts are fitted on 50 tokens of 50 training texts" in result.notes
    assert any("fewer than twice the 32 numbers" in note for note in result.notes)
    assert (
        len(result.tables["rows"]) == 10 and result.tables["settle"].query("reading == 'plain'")["texts"].sum() == 128
    )


def test_what_cannot_be_asked_is_said_in_a_line(toy, _pocket):
    made, encoder = toy
    with pytest.raises(UserError, match=r"has no classifier on top \(it is: masked-lm\); fine-tune it first"):
        readout(_pocket, made)
    with pytest.raises(UserError, match="toy has no test texts to read; give a task that has some"):
        readout(encoder, replace(made, test=made.test.take([])))
    for share in (0, 1.1):
        with pytest.raises(UserError, match=f"share is {share}; give a share of the score above chance"):
            ReadoutConfig(share=share)
    with pytest.raises(UserError, match="fit is -1; it must be at least 0"):
        ReadoutConfig(fit=-1)
    with pytest.raises(UserError, match="fit is 1; a shortcut needs 2 texts or more"):
        ReadoutConfig(fit=1)
