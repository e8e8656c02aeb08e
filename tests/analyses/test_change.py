"""What fine-tuning changed in the attention: against one cropped map at a time, and where the change was planted."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from tokenizers.normalizers import NFC
from transformers import AutoTokenizer

from bertscope.analyses.attention.maps import read_maps
from bertscope.analyses.change.measure import ChangeReader
from bertscope.analyses.change.question import ChangeConfig, change
from bertscope.analyses.change.result import change_result
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.result import Result
from bertscope.models.load import load
from device import on_cpu
from families import MARKED, tiny_model
from plain_attention import bits, plain_maps
from planted_features import planted
from six_sentences import SENTENCES

FEW = ChangeConfig(repeats=100)


@pytest.fixture
def other(tiny):
    """The tiny model with all its weights moved a little."""
    moved = copy.deepcopy(tiny)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in moved.model.parameters():
            parameter += (torch.randn(parameter.shape, generator=generator) * 0.05).to(parameter.device)
    moved.name = "moved"
    return moved


def test_heads_are_those_of_plain_maps_compared_one_by_one(tiny, other, texts):
    table = change(tiny, other, texts, FEW).table.set_index(["layer", "head"])
    cosine, divergence = [], []
    for text in texts.text:
        one, two = plain_maps(tiny, text), plain_maps(other, text)
        shape = one.shape[:2]
        cosine.append(
            [a.ravel() @ b.ravel() / np.linalg.norm(a) / np.linalg.norm(b)
             for a, b in zip(one.reshape(12, -1), two.reshape(12, -1), strict=True)]
        )  # fmt: skip
        apart = np.zeros(shape)
        for at in np.ndindex(*shape):
            rows = zip(one[at], two[at], strict=True)
            apart[at] = np.mean([bits((p + q) / 2) - (bits(p) + bits(q)) / 2 for p, q in rows])
        divergence.append(apart.ravel())
    np.testing.assert_allclose(table["cosine"], np.mean(cosine, 0), atol=1e-5)
    np.testing.assert_allclose(table["divergence"], np.mean(divergence, 0), atol=1e-5)
    assert table["divergence"].min() > 1e-3 and (table["n"] == len(texts)).all()
    assert (table["cosine_low"] <= table["cosine"]).all() and (table["cosine"] <= table["cosine_high"]).all()


def test_the_share_of_the_last_two_layers_is_theirs(tiny, other, texts):
    result = change(tiny, other, texts, FEW)
    moved = 1 - result.table.set_index("layer")["cosine"]
    share = result["last_two_share"]
    assert share.value == pytest.approx(moved.loc[[2, 3]].sum() / moved.sum())
    assert share.low < share.value < share.high
    layers = result.tables["layers"].set_index("layer")
    assert layers["share"].sum() == pytest.approx(1) and sorted(layers["rank"]) == [1, 2, 3]
    assert layers["cosine"].idxmin() == layers["rank"].idxmin() == result["most_changed_layer"].value


def test_rounding_never_makes_a_divergence_negative(tiny, texts):
    near = copy.deepcopy(tiny)
    with torch.no_grad():
        for parameter in near.model.parameters():
            parameter.mul_(1 + 1e-6)
    for text in range(len(texts)):  # one at a time: no mean hides a negative one
        assert (change(tiny, near, texts.take([text]), FEW).table["divergence"] >= 0).all()


@on_cpu
@pytest.mark.parametrize("weighted", [False, True])
def test_a_model_has_not_changed_from_itself(tiny, texts, weighted):
    result = change(tiny, copy.deepcopy(tiny), texts, ChangeConfig(repeats=100, weighted=weighted))
    assert (result.table["cosine"] == 1.0).all() and (result.table["divergence"] == 0.0).all()
    assert (result.table[["cosine_low", "cosine_high"]] == 1.0).all(axis=None)
    assert result["cosine"].value == 1.0 and result["divergence"].value == 0.0
    assert not result.numbers("most_changed_layer") and not result.numbers("last_two_share"), "no layer changed most"
    assert change.sentence(result) is None


@on_cpu
def test_pocket_has_not_changed_from_itself(pocket, texts):
    table = change("pocket", pocket, texts, FEW).table
    assert len(table) == 144 and (table["cosine"] == 1.0).all() and (table["divergence"] == 0.0).all()


def test_a_change_of_one_head_is_that_heads(tiny, texts):
    """Head 3.2 gets another query map: the last layer changes nothing below it."""
    moved = copy.deepcopy(tiny)
    with torch.no_grad():
        moved.layers[2].attention.self.query.weight[6:12].neg_()
    result = change(tiny, moved, texts, FEW)
    table = result.table.set_index(["layer", "head"])
    assert table.loc[(3, 2), "cosine"] < 0.9
    rest = table.drop((3, 2))
    np.testing.assert_allclose(rest["cosine"], 1, atol=1e-6)
    np.testing.assert_allclose(rest["divergence"], 0, atol=1e-6)
    layers = result.tables["layers"].set_index("layer")
    assert layers.loc[3, "rank"] == 1 and layers.loc[3, "share"] == pytest.approx(1, abs=1e-4)
    assert layers.loc[3, "cosine"] == pytest.approx((3 + table.loc[(3, 2), "cosine"]) / 4, abs=1e-6)
    assert result["last_two_share"].value == pytest.approx(1, abs=1e-4)
    assert result["last_two_even_share"].value == pytest.approx(2 / 3)
    assert result["most_changed_layer"].value == 3


def test_heads_that_attend_elsewhere_are_one_bit_apart(texts):
    """Before, every token attends to [CLS]; after, to itself. All queries but [CLS]'s are at 1 bit."""
    from bertscope.analyses.attention.maps import LayerMaps

    class AsPlanned(ChangeReader):
        def read(self, layer, view, maps):
            n = view.real.shape[1]
            first, own = torch.zeros(n, n), torch.eye(n)
            first[:, 0] = 1
            mask = (view.real[:, None, :, None] & view.real[:, None, None]).cpu()
            planted_maps = [LayerMaps(mask * one, view) for one in (first, own)]
            super().read(layer, view, planted_maps)

    pocket = load("pocket", device="cpu")
    reader = AsPlanned(texts.ids, [1] * 12, repeats=100)
    passed = read_maps([pocket, pocket], texts, [reader])
    lengths = np.array([len(pocket.tokenizer(text)["input_ids"]) for text in texts.text])
    result = change_result(reader, passed)
    assert result["divergence"].value == pytest.approx(np.mean((lengths - 1) / lengths), abs=1e-6)
    assert result["cosine"].value == pytest.approx(np.mean(1 / lengths), abs=1e-6)


def test_batches_order_and_padding_do_not_matter(tiny, other, texts):
    def result_of(examples, tokens):
        reader = ChangeReader(examples.ids, tiny.head_counts, repeats=100)
        return change_result(reader, read_maps([tiny, other], examples, [reader], tokens=tokens))

    whole = result_of(texts, 4096)
    for again in (result_of(texts, 30), result_of(texts.take([4, 2, 0, 5, 1, 3]), 64)):
        for name, table in whole.tables.items():
            np.testing.assert_allclose(
                again.tables[name].astype(float), table.astype(float), atol=1e-5, equal_nan=True
            )


def test_classes_before_and_after_are_counted_together(tiny, other, texts):
    """A stub classifier: does the head give its own first token more than a uniform share?"""

    def classify(maps):
        return (maps.received[:, :, 0] * maps.view.lengths[:, None] > 1).long()

    reader = ChangeReader(texts.ids, tiny.head_counts, repeats=100, classify=classify, classes=("away", "first"))
    result = change_result(reader, read_maps([tiny, other], texts, [reader], tokens=64))
    want = np.zeros((3, 2, 2))
    for text in texts.text:
        one, two = plain_maps(tiny, text), plain_maps(other, text)
        n = one.shape[-1]
        for layer, head in np.ndindex(3, 4):
            a, b = (int(maps[layer, head, :, 0].mean() * n > 1) for maps in (one, two))
            want[layer, a, b] += 1 / 4 / len(texts)
    got = result.tables["transitions_by_layer"].set_index(["layer", "before", "after"])["share"]
    np.testing.assert_allclose(got.to_numpy().reshape(3, 2, 2), want, atol=1e-9)
    whole = result.tables["transitions"]
    np.testing.assert_allclose(whole["share"].to_numpy().reshape(2, 2), want.mean(0), atol=1e-9)
    assert whole[["before", "after"]].to_numpy().tolist()[1] == ["away", "first"]
    moved = result["changed_class_share"]
    assert moved.value == pytest.approx(1 - np.trace(want.mean(0))) and moved.low <= moved.value <= moved.high
    assert 0 < moved.value < 1, "this test needs maps of both kinds"


def test_every_head_counts_alike_in_layers_of_few_heads_too(tiny, other, texts):
    """Layers of one, two and four heads, cut in both: means, shares and the even share are over heads."""
    off = ["head:1.1", "head:1.2", "head:1.3", "head:2.1", "head:2.2"]
    result = change(tiny.cut(off), other.cut(off), texts, FEW)
    table, layers = result.table, result.tables["layers"].set_index("layer")
    assert result["cosine"].value == pytest.approx(table["cosine"].mean())
    assert result["last_two_even_share"].value == pytest.approx(6 / 7)
    moved = 1 - table.set_index("layer")["cosine"]
    np.testing.assert_allclose(layers["share"], moved.groupby(level=0).sum() / moved.sum())
    order = layers["cosine"].sort_values().index
    assert result["most_changed_layer"].value == order[0]
    assert result["second_most_changed_layer"].value == order[1]
    by_layer = result.tables["transitions_by_layer"].pivot_table("share", ["before", "after"], "layer", sort=False)
    whole = result.tables["transitions"].set_index(["before", "after"])["share"]
    np.testing.assert_allclose(whole, (by_layer @ [1, 2, 4] / 7)[whole.index], atol=1e-9)
    assert whole.sum() == pytest.approx(1) and not np.allclose(whole, by_layer.mean(axis=1)[whole.index], atol=1e-3)


def test_before_comes_first(pocket, texts):
    """The head looks one back before, at [SEP] after."""
    before, after = (planted(pocket.tokenizer, (kind, "uniform")) for kind in ("previous", "sep"))
    moves = change(before, after, texts.take([0, 1, 3, 4]), FEW).tables["transitions"]
    share = moves.set_index(["before", "after"])["share"]
    assert share["diagonal", "vertical"] == 0.5 and share["vertical", "diagonal"] == 0


@pytest.mark.parametrize("name", MARKED)
def test_every_family_is_compared(name, pocket):
    one, two = (load(tiny_model(name), tokenizer=pocket.tokenizer) for _ in range(2))
    with torch.no_grad():
        for parameter in two.model.parameters():
            parameter.mul_(1.05)
    result = change(one, two, Examples(("a", "b"), SENTENCES[:2]), FEW)
    assert len(result.table) == 12 and result.table["cosine"].between(0, 1 + 1e-6).all()
    assert 1e-6 < result["divergence"].value < 1


def test_a_head_that_moves_nothing_has_no_weighted_attention(tiny, other, texts):
    with torch.no_grad():
        other.layers[1].attention.output.dense.weight[:, :6].zero_()
    result = change(tiny, other, texts, ChangeConfig(repeats=100, weighted=True))
    table = result.table.set_index(["layer", "head"])
    assert np.isnan(table.loc[(2, 1), "cosine"]) and table.loc[(2, 1), "n"] == 0
    assert table.drop((2, 1))["cosine"].notna().all()
    assert result["cosine"].value == pytest.approx(table["cosine"].mean())


def test_it_comes_back_as_it_was_stored(tiny, other, texts, tmp_path):
    result = change(tiny, other, texts, FEW)
    assert Result.load(result.save(tmp_path / "r")).equals(result)
    assert result.about == "BertForSequenceClassification and moved"
    assert list(result.models.values()) == [tiny.record, other.record] and "model" not in result.subject
    assert [number.key for number in result.headline] == list(change.numbers)
    assert [figure.kind for figure in result.figures] == ["heatmap", "heatmap", "lines", "lines", "heatmap"]
    keys = ["heads_cosine", "heads_divergence", "layers_cosine", "layers_divergence", "transitions"]
    assert [figure.key for figure in result.figures] == keys
    labels = {figure.table: figure.labels.get("share") for figure in result.figures}
    assert labels == {"heads": None, "layers": "share of the whole change", "transitions": "share of maps"}


def test_the_sentence_tells_where_it_changed(tiny, texts):
    moved = copy.deepcopy(tiny)
    with torch.no_grad():
        moved.layers[2].attention.self.query.weight[6:12].neg_()
    result = change(tiny, moved, texts, FEW)
    second = int(result["second_most_changed_layer"].value)
    told = change.sentence(result)
    assert told.sentence == (
        f"Fine-tuning changed the attention of layers 3 and {second} most; the last two layers hold 100% of the "
        "change; had all changed alike, 67%."
    )
    assert told.main == result["last_two_share"].value and change.compared
    result.subject["attention"] = "norm-weighted"
    assert change.sentence(result) is None


def test_what_can_not_be_compared_is_refused_with_the_reason(tiny, pocket, texts):
    with pytest.raises(UserError, match="has 12 layers and BertForSequenceClassification 3"):
        change(pocket, tiny, texts)
    with pytest.raises(UserError, match=r"layer 2 of .* has 4 heads, of .* 3"):
        change(tiny, tiny.cut(["head:2.1"]), texts)
    other = copy.deepcopy(tiny)
    words = dict(tiny.tokenizer.get_vocab())
    other.tokenizer = AutoTokenizer.from_pretrained(tiny.tokenizer.name_or_path)
    other.tokenizer.add_tokens(["zyzzyva"])
    assert len(other.tokenizer.get_vocab()) == len(words) + 1
    with pytest.raises(UserError, match="different tokenizers: their tokens can't be compared"):
        change(tiny, other, texts)
    unlowered = copy.deepcopy(tiny)
    unlowered.tokenizer = AutoTokenizer.from_pretrained(tiny.tokenizer.name_or_path)
    unlowered.tokenizer.backend_tokenizer.normalizer = NFC()
    change(tiny, unlowered, texts, FEW)  # these texts have no capitals: both cut them alike
    with pytest.raises(UserError, match="different tokenizers: their tokens can't be compared"):
        change(tiny, unlowered, Examples(("a",), ("Anna Karenina",)), FEW)
    with pytest.raises(UserError, match="at least 100"):
        ChangeConfig(repeats=5)
    with pytest.raises(UserError, match="seed is -1"):
        ChangeConfig(seed=-1)
