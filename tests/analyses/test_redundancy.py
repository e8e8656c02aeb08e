"""How different heads are: against naive loops and another formula, on planted twins, in any batches and order."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from bertscope.analyses.attention.maps import LayerMaps, read_maps
from bertscope.analyses.redundancy.measure import RedundancyReader
from bertscope.analyses.redundancy.outputs import cka
from bertscope.analyses.redundancy.question import RedundancyConfig, redundancy
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.registry import find
from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.data.read import task_root
from bertscope.models.load import load
from bertscope.models.source import model_root
from bertscope.study.runner import run_steps
from families import MARKED, tiny_model
from plain_attention import bits, plain_maps
from toy import task_of

FEW = RedundancyConfig(repeats=100, pairs=4)
D = 6  # the size of tiny's heads


@pytest.fixture
def twins(tiny):
    """In layer 2, head 3 is head 1 over again, and head 4 too, but for a rotation of its output."""
    turn = torch.linalg.qr(torch.randn(D, D, generator=torch.Generator().manual_seed(1)))[0].to(tiny.device)
    own = tiny.layers[1].attention.self
    with torch.no_grad():
        for part in (own.query, own.key, own.value):
            for head in (2, 3):
                part.weight[head * D : (head + 1) * D] = part.weight[:D]
                part.bias[head * D : (head + 1) * D] = part.bias[:D]
        own.value.weight[3 * D :] = turn @ own.value.weight[:D]
        own.value.bias[3 * D :] = turn @ own.value.bias[:D]
    return tiny


def read(encoder, examples, tokens=4096, **how):
    reader = RedundancyReader(examples.ids, [encoder.head_counts], repeats=100, **how)
    read_maps([encoder], examples, [reader], tokens=tokens)
    return reader.maps[0], reader.outputs[0]


def all_queries(encoder, text):
    """[query, head, head] in bits, one pair and query at a time."""
    maps = plain_maps(encoder, text)
    maps = maps.reshape(-1, *maps.shape[2:])
    found = np.zeros((maps.shape[1], len(maps), len(maps)))
    for query, i, j in np.ndindex(*found.shape):
        p, q = maps[i, query], maps[j, query]
        found[query, i, j] = bits((p + q) / 2) - (bits(p) + bits(q)) / 2
    return found


def test_on_all_queries_it_is_the_divergence_of_plain_maps(tiny, texts):
    maps, _ = read(tiny, texts, tokens=64, queries=0)
    each = np.stack([all_queries(tiny, text).mean(0) for text in texts.text])
    np.testing.assert_allclose(maps.divergence, each.mean(0), atol=1e-5)
    np.testing.assert_allclose(maps.error, each.std(0, ddof=1) / np.sqrt(len(texts)), atol=1e-5)
    assert (maps.divergence == maps.divergence.T).all() and (np.diag(maps.divergence) == 0).all()
    by_layer = maps.draws[0]
    for one, other in np.ndindex(3, 3):
        block = maps.divergence[one * 4 : one * 4 + 4, other * 4 : other * 4 + 4]
        assert by_layer[one, other] == pytest.approx(block.sum(), abs=1e-5)


def test_sampled_queries_estimate_the_same_without_bias(tiny, texts):
    whole = np.stack([all_queries(tiny, text).mean(0) for text in texts.text]).mean(0)
    seeds = np.stack([read(tiny, texts, queries=2, seed=seed)[0].divergence for seed in range(80)])
    below = np.tril_indices(12, -1)
    error = seeds.std(0, ddof=1)[below] / np.sqrt(len(seeds))
    assert error.min() > 1e-4, "seeds take different queries"
    z = (seeds.mean(0) - whole)[below] / error
    assert abs(z.mean()) < 1 and np.abs(z).max() < 4.5


def test_a_sampled_query_is_one_of_the_texts(tiny):
    one = Examples(("only",), ("the food was good .",))
    got = read(tiny, one, queries=1)[0].divergence
    assert np.abs(all_queries(tiny, one.text[0]) - got).max((1, 2)).min() < 1e-5


def hsic(x, y):
    """The kernel form, as the paper writes it: HSIC of centred linear kernels."""
    n = len(x)
    centre = np.eye(n) - 1 / n
    return np.trace(x @ x.T @ centre @ y @ y.T @ centre)


def test_cka_is_the_kernel_form_over_all_words_tokens(tiny, texts):
    _, outputs = read(tiny, texts, tokens=64, queries=1)
    contexts = []
    for text in texts.text:
        seen = []
        coded = tiny.tokenizer(text, return_tensors="pt").to(tiny.device)
        hooks = [
            block.attention.output.dense.register_forward_pre_hook(
                lambda _, args, seen=seen: seen.append(args[0][0, 1:-1])
            )
            for block in tiny.layers
        ]
        with torch.inference_mode():
            tiny.model(**coded)
        for hook in hooks:
            hook.remove()
        contexts.append(torch.cat(seen, 1).double().cpu().numpy())
    whole = np.concatenate(contexts).reshape(-1, 12, D)
    assert len(outputs.values) == len(whole)
    want = np.zeros((12, 12))
    for i, j in np.ndindex(12, 12):
        x, y = whole[:, i], whole[:, j]
        want[i, j] = hsic(x, y) / np.sqrt(hsic(x, x) * hsic(y, y))
    np.testing.assert_allclose(outputs.alike, want, atol=1e-5)
    assert (outputs.alike == outputs.alike.T).all() and (np.diag(outputs.alike) == 1).all()


def test_cka_does_not_see_rotation_scale_or_shift():
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(200, 5, generator=generator), torch.randn(200, 5, generator=generator)
    turn = torch.linalg.qr(torch.randn(5, 5, generator=generator))[0]
    plain = cka(torch.cat([x, y, x], 1), [1, 2])
    moved = cka(torch.cat([x, y @ turn * 7 + 3, x @ turn], 1), [1, 2])
    np.testing.assert_allclose(plain, moved, atol=1e-5)
    assert moved[0, 2] == pytest.approx(1, abs=1e-6) and 0 < moved[0, 1] < 0.1
    assert cka(torch.cat([x, x * torch.tensor([9.0, 1, 1, 1, 1])], 1), [2])[0, 1] < 0.9, "it does see stretching"
    still = cka(torch.cat([x, torch.ones(200, 5)], 1), [2])
    assert np.isnan(still[0, 1]) and np.isnan(still[1, 1]) and still[0, 0] == 1


def test_planted_twins_are_one(twins, many):
    result = redundancy(twins, many, FEW)
    apart = result.arrays[f"divergence.{twins.id}"]
    alike = result.arrays[f"cka.{twins.id}"]
    same = [4, 6, 7]  # heads 2.1, 2.3 and 2.4
    assert apart[np.ix_(same, same)].max() < 1e-6
    np.testing.assert_allclose(alike[np.ix_(same, same)], 1, atol=1e-5)
    rest = np.delete(np.arange(12), same)
    assert apart[np.ix_(same, rest)].min() > 0.05 and alike[np.ix_(same, rest)].max() < 0.99
    heads = result.table.set_index("unit")
    assert heads.loc[["head:2.1", "head:2.3", "head:2.4"], "cluster"].nunique() == 1
    assert heads.loc["head:2.3", "nearest"] in ("head:2.1", "head:2.4")
    similar = result.tables["pairs"].query("kind == 'similar'")["pair"].tolist()
    assert set(similar[:3]) == {"head:2.1 + head:2.3", "head:2.1 + head:2.4", "head:2.3 + head:2.4"}
    spread = heads.loc[["head:2.1", "head:2.3", "head:2.4"], ["x", "y"]].std()
    assert spread.max() < 1e-3, "one place on the map"


@pytest.mark.parametrize("sample", [100, 2000])
def test_batches_order_and_padding_do_not_matter(tiny, many, sample):
    def found(examples, tokens, window):
        reader = RedundancyReader(examples.ids, [tiny.head_counts], repeats=100, tokens=sample)
        read_maps([tiny], examples, [reader], tokens=tokens, window=window)
        maps, outputs = reader.maps[0], reader.outputs[0]
        return maps.divergence, maps.draws, maps.error, outputs.alike, outputs.values.cpu().numpy()

    whole = found(many, 4096, 2048)
    order = np.random.default_rng(0).permutation(len(many))
    for again in (found(many, 20, 16), found(many.take(order), 100, 2048)):
        for one, other in zip(whole, again, strict=True):
            assert np.isfinite(one).all()
            np.testing.assert_allclose(one, other, atol=1e-5)
    assert (len(whole[-1]) == 100) == (sample == 100), "of the smaller sample some tokens are left out"


def test_mixtures_a_few_at_a_time_are_the_same(tiny, many, monkeypatch):
    whole = read(tiny, many)[0].divergence
    monkeypatch.setattr("bertscope.analyses.redundancy.measure._CELLS", 1)
    monkeypatch.setattr("bertscope.analyses.redundancy.measure._GPU_CELLS", 1)
    np.testing.assert_allclose(read(tiny, many)[0].divergence, whole, atol=1e-7)


class Numbered(RedundancyReader):
    """Sees as every head's output the number of its text."""

    def read(self, layer, view, maps):
        shape = *view.real.shape, 4, D
        rows = torch.from_numpy(view.rows).to(view.real.device).float()[:, None, None, None].expand(shape)
        super().read(
            layer,
            view,
            [LayerMaps(maps[0].maps, view, [rows] * len(maps[0].layers), head_counts=maps[0].head_counts)],
        )


def test_sampled_tokens_are_spread_evenly(tiny, many):
    """Every word's token is as likely to be taken as any other: texts give tokens in proportion to their length."""
    lengths = np.array([len(tiny.tokenizer(text)["input_ids"]) - 2 for text in many.text])
    taken = np.zeros(len(many))
    for seed in range(12):
        reader = Numbered(many.ids, [tiny.head_counts], tokens=100, seed=seed, repeats=1)
        read_maps([tiny], many, [reader], tokens=256)
        rows = reader.outputs[0].values[:, 0].long().cpu().numpy()
        taken += np.bincount(rows, minlength=len(many))
        assert len(rows) == 100 and (np.bincount(rows, minlength=len(many)) <= lengths).all()
    want = taken.sum() * lengths / lengths.sum()
    assert ((taken - want) ** 2 / want).sum() < 100  # chi-squared with 59 degrees; fewer, as none is taken twice


def test_headline_compares_layers(tiny, many):
    result = redundancy(tiny, many, replace(FEW, queries=0))
    apart = result.arrays[f"divergence.{tiny.id}"]
    layer = np.arange(12) // 4
    same = (layer[:, None] == layer) & ~np.eye(12, dtype=bool)
    other = layer[:, None] != layer
    for key, where in (
        ("divergence", same | other), ("divergence_within_layers", same), ("divergence_between_layers", other),
    ):  # fmt: skip
        number = result[key]
        assert number.value == pytest.approx(apart[where].mean(), abs=1e-6)
        assert number.low < number.value < number.high and number.n == 60
    apart_by = result["divergence_difference"]
    assert apart_by.value == pytest.approx(apart[other].mean() - apart[same].mean(), abs=1e-6)
    assert apart_by.low < apart_by.value < apart_by.high
    cells = result.tables["layers"].set_index(["layer", "other"])
    assert cells.loc[(1, 3), "divergence"] == pytest.approx(apart[:4, 8:].mean(), abs=1e-6)
    assert cells.loc[(3, 1), "divergence"] == cells.loc[(1, 3), "divergence"]
    assert cells.loc[(2, 2), "divergence"] == pytest.approx(apart[4:8, 4:8].sum() / 12, abs=1e-6)
    alike = result.arrays[f"cka.{tiny.id}"]
    assert cells.loc[(2, 2), "cka"] == pytest.approx((alike[4:8, 4:8].sum() - 4) / 12)
    assert result["cka_between_layers"].value == pytest.approx(alike[other].mean())


def test_several_checkpoints_stand_side_by_side(tiny, pocket, many, tmp_path):
    same = copy.deepcopy(tiny)
    bare = load(copy.deepcopy(tiny.model.bert), tokenizer=tiny.tokenizer)
    result = redundancy([tiny, same, bare], task_of(many, tiny), FEW)
    keys = [tiny.id, f"{tiny.id}-2", bare.id]
    assert list(result.models) == keys == result.table["checkpoint"].unique().tolist()
    shown = result.in_words().table["checkpoint"].unique().tolist()
    assert shown == [tiny.name, f"{tiny.name} (2)", bare.name]
    one, two = (result.table.query("checkpoint == @key").drop(columns="checkpoint") for key in keys[:2])
    assert one.reset_index(drop=True).equals(two.reset_index(drop=True))
    (second,) = result.numbers("divergence", model=keys[1])
    assert second.label == f"divergence, {tiny.name} (2)"
    note = next(note for note in result.notes if "no pairs were switched off" in note)
    assert "has no classifier on top" in note and note.endswith(f", {bare.name}")
    shown = [figure.where["checkpoint"] for figure in result.figures if figure.kind == "intervals"]
    assert shown == keys[:2]
    assert len({figure.key for figure in result.figures}) == len(result.figures)
    assert Result.load(result.save(tmp_path / "r")).equals(result)
    with pytest.raises(UserError, match="has 3 layers and pocket 12: they can't be read side by side"):
        redundancy([tiny, pocket], many)


def test_a_model_with_a_layer_without_heads(tiny, many):
    cut = tiny.cut(["heads:2", "head:3.1"])
    result = redundancy(cut, many, FEW)
    assert len(result.table) == 7 and set(result.table["layer"]) == {1, 3}
    cells = result.tables["layers"].set_index(["layer", "other"])
    assert np.isnan(cells.loc[(1, 2), "divergence"]) and np.isnan(cells.loc[(2, 2), "cka"])
    np.testing.assert_allclose(cells.loc[(1, 3), ["divergence", "cka"]], [
        result.arrays[f"{measure}.{cut.id}"][:4, 4:].mean() for measure in ("divergence", "cka")
    ], atol=1e-6)  # fmt: skip


@pytest.mark.parametrize("name", MARKED)
def test_every_family_is_read(name, pocket, many):
    encoder = load(tiny_model(name), tokenizer=pocket.tokenizer)
    result = redundancy(encoder, many.take(range(8)), replace(FEW, weighted=name == "roberta"))
    assert len(result.table) == 12 and 0 < result["divergence"].value < 1
    assert 0 < result["cka_within_layers"].value <= 1


def test_a_step_reads_the_tasks_report_split(tmp_path):
    task, pocket = task_root("demo/sentiment", limit=10), model_root("pocket")
    step = find("redundancy").step({"models.0": pocket, "models.1": pocket, "data": task}, FEW)
    run_steps([step], tmp_path)
    result = Store(tmp_path).result(step)
    one, other = result.numbers("divergence")
    assert one.n == 10 and result.about == "pocket and pocket (2) on demo/sentiment"
    assert one.value == other.value and one.of != other.of


def test_what_can_not_work_is_refused(tiny, many):
    with pytest.raises(UserError, match="has 2 heads: too few"):
        redundancy(tiny.cut(["heads:1", "heads:2", "head:3.1", "head:3.2"]), many)
    for settings, message in (
        ({"queries": -1}, "queries is -1; it must be at least 0"),
        ({"tokens": 10}, "tokens is 10; it must be at least 100"),
        ({"pairs": -1}, "pairs is -1"),
        ({"mode": "off"}, "unknown mode 'off'"),
        ({"repeats": 3}, "at least 100"),
    ):
        with pytest.raises(UserError, match=message):
            RedundancyConfig(**settings)
