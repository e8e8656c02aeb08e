"""Several layers at a time, and sums that stay on a device, as a GPU has them: what is found is the same."""

from __future__ import annotations

import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

import bertscope
from bertscope.analyses.attention import kept as keeping
from bertscope.analyses.attention import maps as reading
from bertscope.analyses.attention.kept import DeviceTotals, KeptRows, MapResampling, device_weights, packed_bits
from bertscope.analyses.attention.maps import LayerMaps, nth_lowest, read_maps
from bertscope.analyses.attention.view import View
from bertscope.analyses.shapes import decomposition
from bertscope.core.resampling import Resampling, RunningMean
from bertscope.models.batches import SentBatch, batches
from device import DEVICE

ASKED = ("patterns", "change", "features", "relations", "redundancy")


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    """Readers are shown as many layers as there are, what they find stays a tensor, no padding is sorted."""
    monkeypatch.setattr(reading, "_room", lambda device: 2**40)
    monkeypatch.setattr(decomposition, "_takes_all", lambda view: False)
    for name in ("patterns.measure", "change.measure", "features.measure", "relations.batch", "redundancy.measure"):
        monkeypatch.setattr(f"bertscope.analyses.{name}.kept", lambda values: values)


@pytest.fixture(scope="module")
def two(_tiny):
    """Two models whose layers have 2, 4 and no heads: they differ in the second."""
    first = _tiny.cut(["head:1.1", "head:1.3", *(f"head:3.{head}" for head in range(1, 5))])
    second = copy.deepcopy(first)
    with torch.no_grad():
        second.model.base_model.encoder.layer[1].attention.self.query.weight.mul_(1.5)
    return first, second


@pytest.mark.parametrize(("name", "weighted"), [*((name, False) for name in ASKED), ("features", True)])
def test_layers_read_together_are_layers_read_one_by_one(two, request, name, weighted):
    corpus = bertscope.read_examples("demo/corpus", limit=40)
    models = two if name == "change" else ([*two],)

    def asked():
        return getattr(bertscope, name)(*models, corpus, repeats=100, weighted=weighted)

    one_by_one = asked()
    request.getfixturevalue("as_on_a_gpu")
    together = asked()
    assert [*one_by_one.tables] == [*together.tables]
    for table, found in one_by_one.tables.items():
        pd.testing.assert_frame_equal(found, together.tables[table], atol=2e-5, rtol=1e-5, obj=table)
    for array, found in one_by_one.arrays.items():
        last_digit = 1 if found.dtype.kind in "iu" else 2e-5  # whole numbers are rounded ones
        np.testing.assert_allclose(together.arrays[array].astype(float), found.astype(float), atol=last_digit)


class Shown:
    needs = frozenset({"contexts", "allowed"})

    def __init__(self):
        self.calls: list[tuple[int, list[int]]] = []
        self.maps: dict[int, list[torch.Tensor]] = {}

    def read(self, layer, view, maps):
        self.calls.append((layer, maps[0].head_counts))
        for at, one in enumerate(maps[0].each, start=layer):
            self.maps.setdefault(at, []).append(one.maps)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_as_many_layers_are_shown_as_there_is_room_for(tiny, texts, monkeypatch, layers):
    alone, some = Shown(), Shown()
    read_maps([tiny], texts, [alone])
    cells = max(one.numel() for found in alone.maps.values() for one in found)
    monkeypatch.setattr(reading, "_room", lambda device: layers * cells)
    read_maps([tiny], texts, [some])
    counts = tiny.head_counts
    assert some.calls[0] == (0, counts[:layers]) and sum(len(heads) for _, heads in some.calls) == len(counts)
    for at, found in alone.maps.items():
        assert all(torch.equal(one, two) for one, two in zip(found, some.maps[at], strict=True))


def test_layers_that_may_look_elsewhere_are_shown_apart(tiny, texts, monkeypatch):
    """As in models whose layers look at a window, or at all of the text."""
    monkeypatch.setattr(reading, "_room", lambda device: 2**40)
    monkeypatch.setattr(
        "bertscope.models.observe.allowed_keys", lambda value, mask: torch.ones(1, 1, 1, value.shape[2])
    )
    look = reading._Pass._looks_alike
    monkeypatch.setattr(reading._Pass, "_looks_alike", lambda one, seen: len(one._waiting) < 2 and look(one, seen))
    shown = Shown()
    read_maps([tiny], texts, [shown])
    assert [layer for layer, _ in shown.calls] == [0, 2]
    seen = [SimpleNamespace(allowed=[torch.ones(1)]) for _ in range(2)]
    waiting = SimpleNamespace(_waiting=[[seen[0]]])
    assert look(waiting, [seen[0]]) and not look(waiting, [seen[1]])


def test_weights_are_those_of_the_cpu():
    plain = Resampling([f"text {i}" for i in range(300)], repeats=400, seed=3)
    weights = device_weights(plain.keys.tobytes(), 400, torch.device(DEVICE))
    assert weights[1:].sum() > 0 and np.array_equal(weights.cpu().numpy(), plain.weights(np.arange(300)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_means_of_tensors_are_means_of_arrays(dtype):
    generator = torch.Generator().manual_seed(0)
    ids = [str(i) for i in range(1500)]
    values = torch.rand(1500, 3, 2, generator=generator, dtype=dtype)
    counts = torch.randint(0, 3, (1500, 3), generator=generator)
    values = values * (counts > 0)[..., None]
    plain, device = (RunningMean(MapResampling(ids, repeats=100)) for _ in range(2))
    for rows in np.array_split(np.random.default_rng(0).permutation(1500), 4):
        plain.add(rows, values[rows].numpy(), counts[rows].numpy())
        device.add(rows, values[rows].to(DEVICE), counts[rows].numpy())
    assert isinstance(device._parts[0], DeviceTotals)
    np.testing.assert_allclose(device.draws, plain.draws, rtol=1e-6 if dtype == torch.float32 else 1e-12)
    assert np.array_equal(device.count, plain.count)
    merged = RunningMean(MapResampling(ids, repeats=100))
    merged.merge(device.sums())
    device.merge(device.sums())
    np.testing.assert_allclose(merged.draws, plain.draws, rtol=1e-6)
    assert np.array_equal(device.count, 2 * plain.count)


def test_lines_without_padding_are_all_lines(pocket, texts, monkeypatch):
    """Also of pairs of texts, which have two sides."""
    pairs = replace(texts, pair=tuple(reversed(texts.text)))
    for examples in (texts, pairs):
        found = []
        for takes_all in (True, False):
            monkeypatch.setattr(decomposition, "_takes_all", lambda view, told=takes_all: told)
            (batch,) = batches(pocket.tokenizer, examples, max_length=64, tokens=2**14)
            view = View.of(batch, 1)
            real = view.real.float()
            maps = torch.rand(*real.shape, real.shape[1], generator=torch.Generator().manual_seed(1))[:, None]
            maps = (maps * real[:, None, None] * real[:, None, :, None]).repeat(1, 3, 1, 1) ** torch.tensor(
                [1, 2, 9]
            )[:, None, None]
            parts = decomposition.decompose(LayerMaps(maps, view))
            found.append([parts.shares, parts.offset, parts.width])
        assert (batch.lengths < batch.lengths.max()).any(), "some are padded"
        for one, other in zip(*found, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-7, equal_nan=True)


@pytest.mark.parametrize("n", [1, 7, 32, 33, 40, 64, 65, 95, 96, 97, 130])
def test_one_of_the_lowest_third_is_that_of_all_in_order(n, monkeypatch):
    monkeypatch.setattr(reading, "_on_cpu", lambda values: False)
    values = torch.rand(5, 3, n, generator=torch.Generator().manual_seed(n))
    values[0, 0] = torch.inf
    values[1, 1, n // 2 :] = torch.inf
    values[2] = values[2].mul(4).round()  # many are equal
    in_order = values.sort().values
    for place in range(1 + (n - 1) // 3):
        found = nth_lowest(values.to(DEVICE), torch.full((5, 1), place, device=DEVICE)).cpu()
        assert torch.equal(found, in_order[..., place])
    places = torch.arange(5)[:, None] % (1 + (n - 1) // 3)  # another in each row
    found = nth_lowest(values.to(DEVICE), places.to(DEVICE)).cpu()
    assert torch.equal(found, in_order.gather(-1, places.expand(5, 3)[..., None])[..., 0])


def test_bits_are_packed_as_numpy_packs_them(monkeypatch):
    bits = torch.rand(6, 21, generator=torch.Generator().manual_seed(0)) > 0.5
    wanted = np.packbits(bits.numpy(), axis=1)
    assert np.array_equal(packed_bits(bits), wanted)
    elsewhere = SimpleNamespace(type="elsewhere")
    monkeypatch.setattr(keeping, "_place_of", lambda values: elsewhere.type)
    assert np.array_equal(packed_bits(bits.to(DEVICE)).cpu(), wanted)


def test_rows_are_read_as_they_were_last_left():
    rows = KeptRows([4, 2], np.float32, torch.device(DEVICE))
    rows.add(torch.tensor([2, 0], device=DEVICE), torch.ones(2, 2, device=DEVICE))
    assert rows.array.tolist() == [[1, 1], [0, 0], [1, 1], [0, 0]]
    rows.add(torch.tensor([2], device=DEVICE), torch.full((1, 2), 2.0, device=DEVICE))
    rows.put(torch.tensor([1], device=DEVICE), torch.full((1, 2), 5.0, device=DEVICE))
    assert rows.array.tolist() == [[1, 1], [5, 5], [3, 3], [0, 0]]


def test_a_batch_that_is_elsewhere_knows_what_it_was_here(tiny, texts):
    """`meta` stands for a device."""
    how = {"max_length": 32, "tokens": 64}
    here, there = (list(batches(tiny.tokenizer, texts, device=device, **how)) for device in ("cpu", "meta"))
    for one, other in zip(here, there, strict=True):
        assert not isinstance(one, SentBatch) and isinstance(other, SentBatch)
        assert other.words.device.type == "meta" and other.inputs["input_ids"].shape == one.inputs["input_ids"].shape
        assert torch.equal(other.host.words, one.words) and np.array_equal(other.rows, one.rows)


def test_maps_of_layers_come_apart_again():
    view = SimpleNamespace()
    maps = torch.rand(2, 5, 3, 3)
    both = LayerMaps(maps, view, [torch.zeros(1), torch.ones(1)], head_counts=[2, 3])
    first, second = both.each
    assert torch.equal(first.maps, maps[:, :2]) and torch.equal(second.maps, maps[:, 2:])
    assert first.contexts[0] == 0 and second.contexts[0] == 1 and both.layers == [slice(0, 2), slice(2, 5)]
