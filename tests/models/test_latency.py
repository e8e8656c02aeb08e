"""Timing: who runs when, what the numbers are; and costs that are fitted to times or counted."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import binom

from bertscope.core.examples import Examples
from bertscope.core.intervals import median_interval
from bertscope.experiments.shrink import costs
from bertscope.experiments.shrink.costs import Cost, block_parameters, fitted, latency_cost, parameter_cost
from bertscope.models.latency import Times, in_torch, sample_batches, time_in_turn
from bertscope.models.load import load
from families import CONFIGS, tiny_model


def test_variants_take_turns_and_begin_each_with_a_call_that_is_not_timed():
    calls = []
    batches = [{"input_ids": torch.tensor([place])} for place in (10, 20, 30)]
    variants = {name: lambda inputs, name=name: calls.append((name, int(inputs["input_ids"]))) for name in "ab"}
    times = time_in_turn(variants, batches, rounds=7)
    turn = [10, 10, 20, 30]
    assert calls == [(name, place) for _ in range(7) for name in "ab" for place in turn]
    assert times.names == ("a", "b") and times.seconds.shape == (2, 7, 3)


def test_slow_rounds_are_fewer_but_enough_for_an_interval():
    times = time_in_turn({"a": lambda inputs: None}, [{}], rounds=50, seconds=0)
    assert times.seconds.shape == (1, 6, 1)


def test_ratios_are_within_rounds_and_drift_leaves_them_alone():
    drift = np.array([1, 2.7, 1, 2, 1.5, 1, 1, 2.5, 1.2])[:, None]
    whole = np.array([[4.0, 6.0]]) * drift
    half = np.array([[1.0, 4.0]]) * drift
    times = Times(("whole", "half"), np.stack([whole, half]))
    assert times.faster("half", "whole") == (2, 2, 2)
    assert times.faster("whole", "half") == (0.5, 0.5, 0.5)
    assert times.milliseconds("whole") == pytest.approx(1e3 * 5 * 1.2)  # the median round's


@pytest.mark.parametrize("n", [6, 9, 15, 40])
def test_the_interval_of_a_median_has_its_coverage_and_no_narrower_one_has(n):
    values = np.random.default_rng(n).permutation(np.arange(1.0, n + 1))
    median, low, high = median_interval(values)
    assert median == np.median(values)
    rank = int(low)  # of values 1 .. n the k-th is k
    assert high == n + 1 - rank
    assert 1 - 2 * binom.cdf(rank - 1, n, 0.5) >= 0.95 > 1 - 2 * binom.cdf(rank, n, 0.5)


def test_too_few_values_have_no_interval():
    with pytest.raises(ValueError, match="too few"):
        median_interval(np.arange(5))


def test_batches_hold_real_texts_padded_to_their_longest(tiny, texts):
    batches = sample_batches(tiny, texts, 2, count=10, seed=3)
    assert len(batches) == 3 and all(len(batch["input_ids"]) == 2 for batch in batches)
    lengths = sorted(int(row.sum()) for batch in batches for row in batch["attention_mask"])
    assert lengths == sorted(len(ids) for ids in tiny.tokenizer(list(texts.text))["input_ids"])
    assert all(bool(batch["attention_mask"].any(0).all()) for batch in batches)  # no column is padding alone
    again = sample_batches(tiny, texts, 2, count=10, seed=3)
    assert all(torch.equal(one["input_ids"], two["input_ids"]) for one, two in zip(batches, again, strict=True))
    assert len(sample_batches(tiny, texts, 1, count=4)) == 4
    (large,) = sample_batches(tiny, texts, 32, count=4)  # more than there are: some come again
    assert large["input_ids"].shape[0] == 32


def test_in_torch_runs_the_plain_model(tiny, texts):
    seen = []
    tiny.model.register_forward_hook(lambda module, args, output: seen.append(output.logits))
    in_torch(tiny)(sample_batches(tiny, texts, 2, count=1)[0])
    assert len(seen) == 1 and seen[0].shape == (2, 2) and not seen[0].requires_grad


def test_a_planted_cost_is_found_again():
    planted = Cost("ms", 2.0, 0.5, 0.25, 0.01)
    counts = np.array([[1, 12, 144, 9216], [1, 6, 72, 4608], [1, 1, 12, 768], [1, 12, 72, 9216], [1, 12, 0, 9216],
                       [1, 12, 144, 4608], [1, 12, 144, 0], [1, 12, 72, 4608]])  # fmt: skip
    taken = np.array([planted.total(*row[1:]) for row in counts])
    found = fitted(counts, taken)
    assert (found.rest, found.layer, found.head, found.neuron) == pytest.approx((2.0, 0.5, 0.25, 0.01))
    assert found.error == pytest.approx(0, abs=1e-9)
    # One number for 1 and 3 ms: (r - 1)^2 + (r/3 - 1)^2 is least at 1.2, not halfway.
    halfway = fitted(np.array([[1, 0, 0, 0]] * 2), np.array([1.0, 3.0]))
    assert (halfway.rest, halfway.error) == pytest.approx((1.2, 0.6))  # 1.2 ms are 60% off 3, and 20% off 1
    # Without heads it takes longer, if anything: they cost nothing, not less than nothing.
    nothing = fitted(counts, np.where(counts[:, 2] < 100, 1.01, 1.0) * counts[:, 1])
    assert nothing.head == 0 and nothing.error > 0


def test_eight_shapes_are_timed(tiny, texts, monkeypatch):
    planted = Cost("ms", 1.0, 0.5, 0.25, 0.01)
    shapes = []

    def timed(variants, batches, **how):
        seconds = [planted.of(run) / 1e3 for run in variants.values()]
        shapes.extend((run.n_layers, run.head_counts, run.neuron_counts) for run in variants.values())
        return Times(tuple(variants), np.tile(np.array(seconds)[:, None, None], (1, 7, 2)))

    monkeypatch.setattr(costs, "in_torch", lambda encoder, output: encoder)
    monkeypatch.setattr(costs, "time_in_turn", timed)
    found = latency_cost(tiny, sample_batches(tiny, texts, 2, count=1))
    assert (found.rest, found.layer, found.head, found.neuron) == pytest.approx((1.0, 0.5, 0.25, 0.01))
    assert shapes[0] == (3, [4] * 3, [48] * 3) and len(shapes) == 8
    assert (1, [4], [48]) in shapes and (3, [0] * 3, [48] * 3) in shapes and (3, [2] * 3, [24] * 3) in shapes


@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "albert"])  # whose layers are cut all alike
def test_parameters_are_counted_exactly(name, _pocket):
    encoder = load(tiny_model(name), tokenizer=_pocket.tokenizer)
    cost = parameter_cost(encoder)
    assert cost.of(encoder) == block_parameters(*encoder.layers)
    neurons = [f"neuron:{layer}.{number}" for layer in (1, 2) for number in (1, 5, 9)]
    smaller = encoder.cut(["head:1.2", "head:1.3", "heads:2", "layer:3", *neurons])
    left = block_parameters(*smaller.layers)
    if encoder.family.shared_weights:
        left += 2 * 2 * 6 * 24  # keys and values of two heads, which went with the last that read them
    if name == "modernbert":
        left += 24 - 16  # only its first layer has no norm before its attention: a layer's cost is a mean
    assert cost.of(smaller) == left
    assert cost.total(layers=2, heads=2, neurons=74) == cost.of(smaller)
    without = encoder.cut(["mlp:1"])  # and its bias
    assert parameter_cost(without).of(without) == pytest.approx(block_parameters(*without.layers))


def test_examples_that_are_few_are_enough(tiny):
    one = Examples(("a",), ("it rained .",), label=np.array([0]))
    assert len(sample_batches(tiny, one, 1, count=24)) == 1
