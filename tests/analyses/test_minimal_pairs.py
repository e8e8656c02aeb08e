"""`minimal-pairs`: accuracies worked out by hand, what drifted told from what was forgotten, nothing where there is
nothing, by command, in Python and in a study."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM, BertForSequenceClassification

from bertscope.analyses.minimal_pairs.question import MinimalPairsConfig, minimal_pairs
from bertscope.analyses.minimal_pairs.result import sentence
from bertscope.core import null_panel
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.store import Store
from bertscope.data.minimal import MinimalPairs, read_pairs
from bertscope.models.load import load
from bertscope.study.file import read_study
from bertscope.study.runner import run_steps
from device import DEVICE
from families import tiny_model

BLIMP = Path("/work/shared/data/blimp/BLiMP.zip")
ORDER = ("the", "house", "was", "old", "road")
"""From the likeliest to the least likely, for the model that reads no context."""


def guesser(tokenizer, **changes):
    return load(tiny_model("bert", AutoModelForMaskedLM, **changes).to(DEVICE), tokenizer=tokenizer)


@pytest.fixture(scope="module")
def wordwise(_pocket):
    """A model that goes by how common each piece is, whatever stands around it."""
    encoder = guesser(_pocket.tokenizer)
    to_words = encoder.model.get_output_embeddings()
    with torch.no_grad():
        to_words.weight.zero_()
        to_words.bias.zero_()
        for place, word in enumerate(ORDER):
            to_words.bias[_pocket.tokenizer.convert_tokens_to_ids(word)] = 5.0 - place
    return encoder


def pairs_of(*rows, name="mine") -> MinimalPairs:
    good, bad, about = zip(*rows, strict=True)
    ids = tuple(f"pair {at}" for at in range(1, len(rows) + 1))
    return MinimalPairs(name, Examples(ids, good), Examples(ids, bad), about)


BY_HAND = pairs_of(
    ("the house", "old house", "first"),  # right
    ("was old", "road old", "first"),  # right
    ("the old road", "road old the", "first"),  # the same words: a tie
    ("road", "the", "second"),  # wrong
    ("road was", "was", "second"),  # one piece more: wrong
    ("THE house", "the House", "second"),  # the same pieces: a tie
)


def test_accuracies_of_a_model_without_context_are_those_worked_out_by_hand(wordwise):
    found = minimal_pairs(wordwise, BY_HAND)
    table = found.tables["phenomena"].set_index("phenomenon")
    assert table["accuracy"].to_dict() == {"first": pytest.approx(2.5 / 3), "second": pytest.approx(0.5 / 3)}
    assert table["ties"].to_dict() == {"first": 1, "second": 1}
    assert table["p"].to_dict() == {"first": pytest.approx(0.5), "second": pytest.approx(0.5)}  # 2 of 2, ties apart
    assert table["p_holm"].tolist() == [1.0, 1.0]
    assert found["accuracy"].value == pytest.approx(3 / 6) and found["accuracy"].n == 6
    # log p of each word from the biases alone: the others of the vocabulary have 0.
    z = np.log(sum(np.exp(5.0 - at) for at in range(5)) + len(wordwise.tokenizer) - 5)
    first = found.tables["pairs"].set_index("row").loc["pair 1"]
    assert first["good"] == pytest.approx(5 + 4 - 2 * z, rel=1e-5)
    assert first["bad"] == pytest.approx(2 + 4 - 2 * z, rel=1e-5) and first["right"] == 1.0
    np.testing.assert_allclose(found.arrays["scores"][0, 0], [first["good"], first["bad"]])
    assert "2 times both texts of a pair are equally likely, which counts one half" in found.notes


def test_certain_are_shares_that_an_exact_test_finds_after_correction(wordwise):
    many = [("the old", "road old", "clear")] + [(f"the {word}", f"road {word}", "clear") for word in "abcdefghi"]
    even = [("the", "road", "even"), ("road was", "the was", "even")]
    found = minimal_pairs(wordwise, pairs_of(*many, *even)).tables["phenomena"].set_index("phenomenon")
    assert found.loc["clear", "accuracy"] == 1 and found.loc["clear", "p"] == pytest.approx(2 / 2**10)
    assert found.loc["clear", "p_holm"] == pytest.approx(4 / 2**10) and found.loc["clear", "certain"]
    assert found.loc["clear", "low"] < 0.8 and found.loc["clear", "high"] == pytest.approx(1)
    assert found.loc["even", "accuracy"] == 0.5 and not found.loc["even", "certain"]


@pytest.fixture(scope="module")
def agreement():
    return read_pairs("demo/minimal", only=["agreement"], limit=40)


def tuned_from(encoder, change=None):
    """A classifier whose encoder is the model's own, changed."""
    model = BertForSequenceClassification(encoder.model.config).eval().to(encoder.device)
    model.base_model.load_state_dict(encoder.model.base_model.state_dict(), strict=False)
    if change is not None:
        with torch.no_grad():
            change(model.base_model)
    return load(model, tokenizer=encoder.tokenizer)


def drift(model):
    """The last states in other coordinates: nothing is lost."""
    norm = model.encoder.layer[-1].output.LayerNorm
    norm.weight.mul_(-1.5)
    norm.bias.add_(0.7)


@pytest.mark.slow
def test_what_only_drifted_is_not_forgotten(_pocket, agreement):
    found = minimal_pairs([_pocket, tuned_from(_pocket, drift)], agreement)
    by = {number.of["way"]: number.value for number in found.numbers(key="accuracy")}
    assert by["own"] > 0.9 and by["as_it_is"] < by["own"] - 0.2
    assert by["mapped"] == by["own"] and found["forgotten"].value == 0
    assert found["explained"].value > 0.999
    own, _, mapped = found.arrays["scores"]
    np.testing.assert_allclose(mapped, own, rtol=0.01)
    told = sentence(found)
    assert told is not None and "points are forgotten" in told.sentence and told.main == by["own"]


@pytest.mark.slow
def test_what_no_map_brings_back_is_forgotten(_pocket, agreement):
    def forget(model):
        generator = torch.Generator().manual_seed(0)
        for weights in model.encoder.parameters():
            weights.copy_(torch.randn(weights.shape, generator=generator).to(weights) * 0.2)

    found = minimal_pairs([_pocket, tuned_from(_pocket, forget)], agreement)
    lost = found["forgotten"]
    assert lost.low is not None and lost.low > 0.2 and found["explained"].value < 0.9
    table = found.tables["phenomena"].set_index("way")
    assert table.loc["mapped", "change"] == pytest.approx(-lost.value) and table.loc["mapped", "changed"]


def test_a_model_that_was_not_changed_lost_nothing(_pocket, agreement):
    found = minimal_pairs([_pocket, tuned_from(_pocket)], agreement.take(range(12)))
    own, as_it_is, mapped = found.arrays["scores"]
    np.testing.assert_array_equal(own, as_it_is)
    np.testing.assert_allclose(mapped, own, rtol=0.05)
    assert found["drifted"].value == 0
    (fitted,) = re.findall(r"affine maps are fitted on (\d+) masked pieces of 24 texts", "\n".join(found.notes))
    told = any(
        "fewer than twice the 192 numbers of a state: with more texts the maps" in note for note in found.notes
    )
    assert told == (int(fitted) < 384)


def test_models_with_heads_of_their_own_are_read_by_these(_pocket, wordwise):
    other = guesser(_pocket.tokenizer, hidden_size=36)
    both = minimal_pairs([wordwise, other], BY_HAND)
    alone = minimal_pairs(other, BY_HAND)
    np.testing.assert_allclose(both.arrays["scores"][1], alone.arrays["scores"][0], rtol=1e-6)
    assert {number.of["way"] for number in both.numbers(key="accuracy")} == {"own"}
    assert not both.numbers(key="forgotten") and both.figures[0].color == "checkpoint"


def test_random_weights_are_at_one_half_and_the_panel_passes(_pocket):
    pairs = read_pairs("demo/minimal", limit=120)
    found = minimal_pairs(guesser(_pocket.tokenizer), pairs, null=True)
    assert not found.tables["phenomena"]["certain"].any()
    for key in ("accuracy", "random_accuracy"):
        number = found[key]
        assert number.low < 0.5 < number.high
    assert null_panel.verdict(found) == "passes"
    assert found.tables["phenomena"]["random"].between(0.2, 0.8).all()


def test_the_panel_finds_seldom_what_is_not_there_and_the_test_what_is(wordwise):
    right = [(f"the {word}", f"road {word}", name) for name in ("x", "y", "z") for word in "abcdefghijkl"]
    found = minimal_pairs([wordwise, tuned_from(wordwise, drift)], pairs_of(*right), null=True)
    assert found.tables["phenomena"].set_index("way").loc["own", "certain"].all()
    panel = found.tables[null_panel.TABLE]
    assert set(panel["tests"]) == {"against_half", "change"} and panel["passes"].all()
    assert (panel["findings"] <= 18).all() and (panel["draws"] == 200).all()


def test_phenomena_are_sorted_and_arms_stand_side_by_side(wordwise):
    found = minimal_pairs([wordwise, tuned_from(wordwise)], pairs_of(*zip(
        ("road", *["the"] * 11), ("the", *["road"] * 11), ("worst", *["best"] * 11), strict=True)))  # fmt: skip
    figure = found.figures[0]
    assert figure.color == "way" and figure.facet is None and figure.rules == {"one half": 0.5}
    assert list(dict.fromkeys(found.tables["phenomena"]["phenomenon"])) == ["best", "worst"]


def test_too_few_texts_for_a_map_are_said(wordwise):
    found = minimal_pairs([wordwise, tuned_from(wordwise)], BY_HAND)
    assert {number.of["way"] for number in found.numbers(key="accuracy")} == {"own", "as_it_is"}
    assert any("too few texts for an affine map" in note for note in found.notes)


def test_pairs_longer_than_the_model_are_left_out_and_counted(wordwise):
    long = pairs_of(("the house", "old house", "x"), ("the " * 70, "road " * 70, "x"))
    found = minimal_pairs(wordwise, long)
    assert found["accuracy"].n == 1 and "1 pair is longer than the models read and was left out" in found.notes
    with pytest.raises(
        UserError, match="every pair of mine is longer than 64 tokens, which is all that is read of it"
    ):
        minimal_pairs(wordwise, long.take([1]))
    short = load(tiny_model("bert", max_position_embeddings=8).to(DEVICE), tokenizer=wordwise.tokenizer)
    some = pairs_of(
        *[(f"the {word}", f"road {word}", "x") for word in "abcdefghijkl"], ("the " * 8, "road " * 8, "x")
    )
    found = minimal_pairs([wordwise, short], some)
    assert {number.n for number in found.numbers(key="accuracy")} == {12}, "those that both of them read"


def test_rows_are_listed_as_far_as_asked_and_all_are_counted(wordwise):
    found = minimal_pairs(wordwise, BY_HAND, rows=2)
    assert len(found.tables["pairs"]) == 2 and found["accuracy"].n == 6
    assert "2 of 6 pairs are listed, drawn at random; all are counted" in found.notes


def test_each_mistake_is_one_line(wordwise, tiny, _pocket):
    with pytest.raises(UserError, match=r"doesn't guess masked words \(it is: classifier\); name a pretrained model"):
        minimal_pairs(tiny, BY_HAND)
    narrow = load(tiny_model("bert", hidden_size=36).to(DEVICE), tokenizer=_pocket.tokenizer)
    with pytest.raises(UserError, match=r"36 hidden units, and .* 24: that head can't read it"):
        minimal_pairs([wordwise, narrow], BY_HAND)
    other = copy.deepcopy(tiny)
    other.tokenizer.add_tokens(["zzyzx"])
    with pytest.raises(UserError, match="and other pieces than"):
        minimal_pairs([wordwise, other], BY_HAND)
    with pytest.raises(UserError, match="rows is -1; it must be at least 0"):
        MinimalPairsConfig(rows=-1)
    with pytest.raises(UserError, match="minimal-pairs takes no text_column="):
        minimal_pairs(wordwise, BY_HAND, text_column="x")


@pytest.fixture
def folder(wordwise, tmp_path):
    return str(wordwise.save(tmp_path / "wordwise"))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "pairs.csv"
    rows = zip(BY_HAND.clean.text, BY_HAND.corrupted.text, BY_HAND.phenomenon, strict=True)
    path.write_text("good,bad,phenomenon\n" + "\n".join(",".join(row) for row in rows), encoding="utf-8")
    return str(path)


def test_by_command_in_python_with_a_store_and_in_a_study(folder, file, tmp_path, command):
    store = tmp_path / "store"
    code, out, err = command("minimal-pairs", folder, "--on", file, "--only", "first", "--store", store, "--json")
    assert code == 0, err
    told = json.loads(out)
    assert told["question"] == "minimal-pairs"
    held = minimal_pairs(folder, file, only=["first"], store=store)
    assert held["accuracy"].value == pytest.approx(2.5 / 3)
    assert len(list(Store(store).finished())) == 1, "the call found what the command had stored"
    tuples = list(zip(BY_HAND.clean.text, BY_HAND.corrupted.text, strict=True))
    assert minimal_pairs(folder, tuples, store=store)["accuracy"].value == pytest.approx(0.5)
    study = tmp_path / "study.yaml"
    study.write_text(
        f"model: {folder}\npairs: {{source: {file}, only: [second]}}\nquestions:\n  - minimal-pairs: {{rows: 3}}\n",
        encoding="utf-8",
    )
    steps = [step for step in read_study(study).steps if step.name == "minimal-pairs"]
    run_steps(steps, Store(store))
    assert Store(store).result(steps[0])["accuracy"].value == pytest.approx(0.5 / 3)


def test_a_study_that_names_no_pairs_says_what_to_add(folder, tmp_path):
    study = tmp_path / "study.yaml"
    study.write_text(f"model: {folder}\nquestions: [minimal-pairs]\n", encoding="utf-8")
    with pytest.raises(UserError, match="no data 'pairs' in this study; add some: pairs: demo/minimal"):
        read_study(study)


@pytest.mark.slow
@pytest.mark.skipif(not BLIMP.exists(), reason="BLiMP isn't here")
def test_pocket_knows_agreement_of_determiners_in_blimp(_pocket):
    found = minimal_pairs(_pocket, str(BLIMP), only=["determiner_noun_agreement", "island_effects"], limit=160)
    table = found.tables["phenomena"].set_index("phenomenon")
    assert table.loc["determiner_noun_agreement", "accuracy"] > 0.75 and table["n"].tolist() == [80, 80]
    assert table.loc["determiner_noun_agreement", "certain"]
