"""`patch`: shares worked out by hand, what the gradient says beside them, the null, and what can't be patched."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from bertscope.analyses.patch.measure import _exact
from bertscope.analyses.patch.question import SAMPLED, PatchConfig, patch
from bertscope.analyses.patch.result import taken_over
from bertscope.core import null_panel
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.models.contrasts import contrasts, unrelated
from bertscope.models.load import load
from bertscope.models.outputs.kinds import own_output
from bertscope.models.taps import Tap, tapped
from device import DEVICE
from families import tiny_model
from toy import _WORDS

QUICK = {"repeats": 200, "permutations": 999}


def swapped(rows, seed=0, words=("good", "bad"), lengths=(5, 8)):
    """Pairs of texts that differ in one word, of one or the other kind at random."""
    generator = np.random.default_rng(seed)
    made = []
    for _ in range(rows):
        text = list(generator.choice(_WORDS, generator.integers(*lengths)))
        at = generator.integers(len(text) + 1)
        made.append(tuple(" ".join([*text[:at], word, *text[at:]]) for word in generator.permutation(words)))
    return made


@pytest.fixture(scope="module")
def toy(_toy_model):
    return _toy_model


@pytest.fixture(scope="module")
def found(toy):
    return patch(toy, swapped(60), null=True, repeats=200)


def rows(result, kind, direction="denoise", role="all"):
    table = result.tables["patches"]
    return table[(table["kind"] == kind) & (table["direction"] == direction) & (table["role"] == role)]


class _Head(Tap):
    """Keeps what a head puts out, or puts out what was kept."""

    def __init__(self, layer, head):
        self.layer, self.head, self.kept, self.puts = layer, head, None, False

    def on_context(self, layer, context, value, mask):
        if layer != self.layer:
            return context
        if not self.puts:
            self.kept = context.clone()
            return context
        context = context.clone()
        context[:, :, self.head] = self.kept[:, :, self.head]
        return context


def test_two_pairs_by_hand(toy):
    """Denoise and noise of a head, from the logits of single texts."""
    pairs = [("the food was good", "the food was bad"), ("a bad old house and river", "a good old house and river")]
    result = patch(toy, pairs, units=["head"], exact="all", **QUICK)

    def logits(text, tap=None):
        inputs = toy.tokenizer(text, return_tensors="pt").to(toy.device)
        with torch.no_grad(), tapped(toy, tap or Tap()):
            return toy.model(**inputs).logits[0].cpu().double().numpy()

    answers = [[int(logits(text).argmax()) for text in pair] for pair in pairs]
    assert answers == [[1, 0], [0, 1]]
    runs = np.array([[logits(text)[one] - logits(text)[other] for text in pair]
                     for pair, (one, other) in zip(pairs, answers, strict=True)])  # fmt: skip
    between = (runs[:, 0] - runs[:, 1]).mean()
    assert result["between"].value == pytest.approx(between, abs=1e-5)
    for unit, layer, head in (("head:1.2", 0, 1), ("head:3.4", 2, 3), ("head:4.1", 3, 0)):
        moved = {"denoise": [], "noise": []}
        for pair, (one, other), run in zip(pairs, answers, runs, strict=True):
            for direction, source, into in (("denoise", 0, 1), ("noise", 1, 0)):
                tap = _Head(layer, head)
                logits(pair[source], tap)
                tap.puts = True
                said = logits(pair[into], tap)
                moved[direction].append(abs(said[one] - said[other] - run[into]) * np.sign(
                    (said[one] - said[other] - run[into]) * (1 if direction == "denoise" else -1)))  # fmt: skip
        for direction, effects in moved.items():
            share = rows(result, "head", direction).set_index("unit").at[unit, "share"]
            assert share == pytest.approx(np.mean(effects) / between, abs=2e-5)


@pytest.mark.slow
def test_the_word_carries_it_below_and_cls_above(found):
    layers = found.tables["patches"].query("kind == 'layer' and direction == 'denoise'")
    assert set(layers["role"]) == {"changed", "before", "after", "cls", "sep"} and layers["layer"].max() == 3
    share = layers.pivot(index="layer", columns="role", values="share")
    assert share.at[1, "changed"] > 0.5 > share.at[1, "cls"] and share.at[3, "cls"] > 0.9 > share.at[3, "changed"]
    assert found["taken_over"].value == taken_over(found.tables["patches"]) in (2, 3)
    assert layers.set_index(["layer", "role"])["certain"][1, "changed"]
    assert (layers["low"] <= layers["share"]).all() and (layers["share"] <= layers["high"]).all()


def test_every_family_is_there_with_what_belongs_to_it(found):
    table = found.tables["patches"]
    assert len(rows(found, "head")) == 16 and len(rows(found, "mlp")) == len(rows(found, "heads")) == 4
    by_role = table.query("kind == 'head' and role != 'all' and direction == 'noise'")
    assert len(by_role) == 3 * 4 * 5  # not of the last layer: what is on top reads [CLS] alone
    assert table["share"].notna().all() and table["gradient"].notna().all() and table["random_weights"].notna().all()
    assert found["pairs"].value == 60 and found["tested"].value > 30
    assert {figure.key for figure in found.figures} >= {
        "layer_denoise", "layer_noise", "head_denoise", "head_noise", "methods_denoise", "pair_1", "pair_3",
    }  # fmt: skip
    sentence = patch.sentence(found)
    assert "carries the most of the 16 heads that were patched" in sentence.sentence and "[CLS]" in sentence.sentence


def test_word_by_word_the_embeddings_of_the_changed_word_are_all_of_it(found):
    tokens = found.tables["tokens"]
    first = tokens[(tokens["layer"] == 0)]
    changed = first["token"].str.contains(" / ")
    assert changed.sum() == 3
    np.testing.assert_allclose(first.loc[changed, "share"], 1, atol=1e-5)
    np.testing.assert_allclose(first.loc[~changed, "share"], 0, atol=1e-5)
    last = tokens[tokens["layer"] == 4]
    np.testing.assert_allclose(last.loc[last["place"] == 1, "share"], 1, atol=1e-5)
    clean, corrupted = found.tables["pairs"].loc[0, ["clean", "corrupted"]]
    told = [token.split(" ", 1)[1] for token in first.loc[first["pair"] == "1", "token"]][1:-1]
    assert " ".join(token.split(" / ")[0] for token in told) == clean
    assert " ".join(token.split(" / ")[-1] for token in told) == corrupted


def test_where_there_is_nothing_nothing_is_found(found):
    panel = found.tables[null_panel.TABLE]
    assert len(panel) == 10 and (panel["draws"] == 200).all() and panel["passes"].all()


def test_a_text_of_another_pair_with_that_answer_gives_the_answer_and_with_the_own_answer_nothing(found):
    """What [CLS] carries above is the answer: any text's serves."""
    layers = found.tables["patches"].query("kind == 'layer' and direction == 'denoise' and role == 'cls'")
    top = layers.set_index("layer").loc[3]
    assert top["other_text"] == pytest.approx(top["share"], abs=0.05) and abs(top["unrelated"]) < 0.05
    below = found.tables["patches"].query("kind == 'layer' and layer == 1 and role == 'changed'").iloc[0]
    assert below["other_text"] < below["share"] - 0.2  # another text has another word there


def test_unrelated_pairs_have_the_same_answers_and_places(toy):
    pairs = swapped(40, lengths=(5, 7))
    ids = tuple(map(str, range(len(pairs))))
    made = contrasts(own_output(toy, pairs=False), *(Examples(ids, side) for side in zip(*pairs, strict=True)))
    at, donors = unrelated(made, 2, 0)
    assert len(at) > 10
    for draw in donors:
        assert (draw != at).all()
        for side in ("clean", "corrupted"):
            assert (made.answers[side][draw] == made.answers[side][at]).all()
        assert [made.paired.layouts[one] for one in draw] == [made.paired.layouts[one] for one in at]
    assert (donors[0] != donors[1]).all()
    assert not len(unrelated(made.take(np.arange(1)), 1, 0)[0])


def test_the_gradient_alone(toy):
    result = patch(toy, swapped(12), exact="none", units=["head", "layer"], **QUICK)
    table = result.tables["patches"]
    assert table["share"].isna().all() and table["integrated"].notna().all() and "p" not in table
    assert not len(result.tables["agreement"]) and patch.sentence(result) is None
    assert [figure.value for figure in result.figures if figure.key == "head_denoise"] == ["integrated"]


def test_a_sample_goes_from_large_to_small():
    gradient = np.linspace(0, 1, 480)[:, None] * np.ones(10)
    chosen = _exact(gradient, 10, PatchConfig(exact="sample"))
    assert len(chosen) == SAMPLED and (np.diff(chosen // 10) == 1).all()  # one of each ten
    assert len(_exact(gradient, 10, PatchConfig())) == 480 and len(_exact(gradient, 100, PatchConfig())) == SAMPLED
    assert len(_exact(gradient, 1000, PatchConfig(exact="all"))) == 480


def test_how_well_the_gradient_ranks_is_pandas_rank_correlation(found):
    agreement = found.tables["agreement"].set_index(["kind", "direction", "method"])
    heads = rows(found, "head", "noise")
    assert agreement.at[("head", "noise", "gradient"), "spearman"] == pytest.approx(
        heads["gradient"].rank().corr(heads["share"].rank())
    )
    top = [set(heads.loc[heads[name].abs().nlargest(10).index, "unit"]) for name in ("share", "integrated")]
    assert agreement.at[("head", "noise", "integrated"), "overlap"] == len(top[0] & top[1]) / 10
    assert found.numbers(key="overlap", kind="head", method="integrated", direction="noise")


def test_intervals_are_of_the_ratio_of_means(toy):
    """Pairs that are all alike have no spread; and the same pairs twice give the same shares."""
    one = patch(toy, [("the food was good", "the food was bad")] * 12, units=["head"], **QUICK)
    heads = rows(one, "head")
    np.testing.assert_allclose(heads["low"], heads["high"], atol=1e-6)
    np.testing.assert_allclose(heads["share"], heads["low"], atol=1e-6)


def test_few_pairs_have_no_test_and_say_so(toy):
    result = patch(toy, swapped(4), units=["mlp"], **QUICK)
    assert "certain" not in result.tables["patches"] and any("too few for a test" in note for note in result.notes)


def test_too_few_permutations_are_told(toy):
    result = patch(
        toy, swapped(12, lengths=(5, 6)), units=["layer"], directions=["denoise"], repeats=100, permutations=99
    )
    assert not result.tables["patches"]["certain"].any()
    assert any("99 permutations are too few for any of 15 activations" in note for note in result.notes)


def test_no_more_pairs_than_asked_for(toy):
    result = patch(toy, swapped(30), units=["mlp"], sample=10, **QUICK)
    assert result["pairs"].value == 10 and result.numbers(key="left_out", why="sampled")[0].value == 20


def test_what_cannot_be_patched_is_told_with_what_to_do(toy, _pocket):
    with pytest.raises(UserError, match=r"2 have their tokens at other places.*as many pieces"):
        patch(toy, [("a good house", "a very bad house"), ("good", "bad and old")])
    alike = [("the food was cold", "the room was cold"), ("the old house", "the old river")]
    with pytest.raises(UserError, match="2 are answered the same on both sides; give a model that was trained"):
        patch(toy, alike)
    with pytest.raises(UserError, match=r"longer than the 64 tokens.*shorter"):
        patch(toy, [("good " * 90, "bad " * 90)])
    with pytest.raises(UserError, match="no directions to patch"):
        patch(toy, alike, directions=[])
    with pytest.raises(UserError, match="no activations to patch"):
        patch(toy, alike, units=[])
    with pytest.raises(UserError, match="leave out exact none"):
        patch(toy, alike, exact="none", null=True)


def test_scores_need_no_classes(_pocket):
    encoder = load(tiny_model("bert", num_labels=1).to(DEVICE), tokenizer=_pocket.tokenizer)
    result = patch(encoder, swapped(20), units=["layer", "head"], **QUICK)
    assert result["pairs"].value == 20 and "certain" in result.tables["patches"]
    assert isinstance(result.tables["pairs"]["clean_answer"].iloc[0], str)
    assert pd.api.types.is_bool_dtype(result.tables["patches"]["certain"])
