"""Weights of one checkpoint lent to another: which they are, in every family, and that the model then says what one
says that has them for good."""

from __future__ import annotations

import copy
from collections import Counter

import numpy as np
import pytest
import torch
from transformers import BertModel

from bertscope.core.errors import UserError
from bertscope.core.units import every
from bertscope.data.task import Task
from bertscope.models.grafting import Place, Weights, on_the_way, permuted_change, weights_of_base
from bertscope.models.judge import Keeping
from bertscope.models.load import load
from bertscope.models.outputs.kinds import model_output
from bertscope.models.replay import run_each
from bertscope.models.taps import Tap, tapped
from device import DEVICE
from families import MARKED, tiny_model
from planted_kinds import PLANTED
from toy import task as toy_task


@pytest.fixture(scope="module", params=MARKED)
def pair(request, _pocket):
    """A base and a tuned model of a family: all of the latter's weights are others."""
    tuned = load(tiny_model(request.param).to(DEVICE), tokenizer=_pocket.tokenizer)
    base = load(copy.deepcopy(tuned.model), tokenizer=_pocket.tokenizer)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in base.model.parameters():
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=generator).to(parameter))
    return base, tuned


@pytest.fixture(scope="module")
def texts() -> Task:
    return toy_task().test.take(range(12))


def said(encoder, examples, changes, *, replay=True):
    """The logits [change, example, label], with each change."""
    asked = model_output(encoder)
    with tapped(encoder, Tap()):
        keeping = Keeping(asked, examples, len(changes))
        run_each(asked, examples, changes, keeping.take, replay=replay)
    return keeping.kept().logits


def for_good(base, tuned, places):
    """A copy of the tuned model with the base's weights, but for these places, by its state dict alone."""
    model = copy.deepcopy(tuned.model)
    own = dict(model.base_model.named_parameters())
    from_base, from_tuned = (dict(one.model.base_model.named_parameters()) for one in (base, tuned))
    with torch.no_grad():
        for name in Weights(tuned).parameters:
            own[name].copy_(from_base[name])
        for place in places:
            at = slice(None) if place.at is None else list(place.at)
            where = (at,) if place.axis == 0 else (slice(None), at)
            own[place.name][where] = from_tuned[place.name][where]
    return load(model, tokenizer=tuned.tokenizer)


def test_every_weight_but_the_poolers_is_of_one_kind(pair):
    _, tuned = pair
    weights = Weights(tuned)
    left_out = {name for name, _ in tuned.model.base_model.named_parameters()} - set(weights.where)
    assert all("pool" in name for name in left_out)
    each = Counter(
        place.name for kind in ("embeddings", "attention", "mlp", "norm") for place in weights.of(kinds=[kind])
    )
    assert set(each) == set(weights.parameters) and set(each.values()) == {1}
    for layer in range(len(set(tuned.layers))):
        kinds = {kind: weights.of_layer(layer, kind) for kind in ("attention", "mlp", "norm")}
        assert all(kinds.values())
        assert {place.name for places in kinds.values() for place in places} == {
            place.name for place in weights.of(layers=[layer])
        }
        block = dict(tuned.layers[layer].named_parameters())
        assert sum(len(places) for places in kinds.values()) == len(block)


def test_heads_share_out_their_maps(pair):
    """No row of queries, and no column of the output map, is of two heads or of none."""
    _, tuned = pair
    weights = Weights(tuned)
    cells = {name: torch.zeros(parameter.shape) for name, parameter in weights.parameters.items()}
    for head in every("head", tuned.head_counts):
        if tuned.shares_blocks and head.layer > 1:
            continue
        for place in weights.of_head(head):
            cells[place.name].index_add_(
                place.axis,
                torch.tensor(place.at),
                torch.ones_like(cells[place.name]).index_select(place.axis, torch.tensor(place.at)),
            )
    touched = {name for name, counts in cells.items() if counts.any()}
    assert all((cells[name] == 1).all() for name in touched)
    assert {weights.where[name].kind for name in touched} == {"attention"}
    projection = tuned.parts(tuned.layers[0])[1]
    names = {parameter: name for name, parameter in weights.parameters.items()}
    assert names[projection.weight] in touched
    if projection.bias is not None:
        assert names[projection.bias] not in touched


def test_all_is_tuned_and_none_is_base_bit_for_bit(pair, texts):
    base, tuned = pair
    weights = Weights(tuned)
    from_base = weights_of_base(weights, base)
    own = {name: parameter.data for name, parameter in weights.parameters.items()}
    everything = [Place(name) for name in weights.parameters]
    plain = tuned.predict(texts).logits
    as_base = for_good(base, tuned, []).predict(texts).logits
    assert np.abs(plain - as_base).max() > 1e-3  # otherwise nothing is shown
    with weights.lend(everything, from_base.__getitem__):
        np.testing.assert_array_equal(tuned.predict(texts).logits, as_base)
        nothing, everything_back, half = (
            weights.lent(places, values)
            for places, values in (
                ([], own.__getitem__),
                (everything, own.__getitem__),
                (everything, on_the_way(from_base, own, 1.0)),
            )
        )
        found = said(tuned, texts, [nothing, everything_back, half], replay=False)
    np.testing.assert_array_equal(found[1], found[2])
    with tapped(tuned, Tap()):
        tapped_plain = said(tuned, texts, [weights.lent([], own.__getitem__)], replay=False)[0]
    np.testing.assert_array_equal(found[1], tapped_plain)
    np.testing.assert_allclose(found[0], as_base, atol=2e-5)
    np.testing.assert_array_equal(tuned.predict(texts).logits, plain)
    assert all(
        parameter.data is own[name] or parameter.data_ptr() == own[name].data_ptr()
        for name, parameter in weights.parameters.items()
    )


def test_replayed_grafts_are_models_with_these_weights(pair, texts):
    """Layers, kinds within a layer, heads, what lies outside: as a state dict makes them."""
    base, tuned = pair
    weights = Weights(tuned)
    from_base = weights_of_base(weights, base)
    own = {name: parameter.data for name, parameter in weights.parameters.items()}
    layers = range(len(set(tuned.layers)))
    sets = [weights.of(layers=[layer]) for layer in layers]
    sets += [weights.of_layer(layer, kind) for layer in layers for kind in ("attention", "mlp", "norm")]
    sets += [weights.of_head(head) for head in every("head", tuned.head_counts)[: 4 * len(layers)]]
    sets += [weights.of(kinds=["embeddings"]), weights.of(kinds=["norm"])]
    with weights.lend([Place(name) for name in weights.parameters], from_base.__getitem__):
        found = said(tuned, texts, [weights.lent(places, own.__getitem__) for places in [[], *sets]])
    for places, logits in zip(sets, found[1:], strict=True):
        wanted = for_good(base, tuned, places).predict(texts).logits
        np.testing.assert_allclose(logits, wanted, atol=2e-5)
    moved = np.abs(found[1:] - found[0]).max((1, 2))
    assert (moved > 1e-6).mean() > 0.9  # the sets do differ


def test_weights_come_back_after_a_failure(pair):
    base, tuned = pair
    weights = Weights(tuned)
    before = {name: parameter.detach().clone() for name, parameter in weights.parameters.items()}
    with (
        pytest.raises(RuntimeError, match="broken"),
        weights.lend(weights.of(layers=[0]), weights_of_base(weights, base).__getitem__),
    ):
        raise RuntimeError("broken")
    assert all(torch.equal(before[name], parameter) for name, parameter in weights.parameters.items())


def test_a_permuted_change_has_the_same_numbers_in_another_order(pair):
    base, tuned = pair
    weights = Weights(tuned)
    from_base = weights_of_base(weights, base)
    own = {name: parameter.data for name, parameter in weights.parameters.items()}
    values, again, other = (permuted_change(from_base, own, seed) for seed in (1, 1, 2))
    name = weights.of_layer(0, "attention")[0].name
    change, drawn = (own[name] - from_base[name]).flatten(), (values(name) - from_base[name]).flatten()
    torch.testing.assert_close(drawn.sort().values, change.sort().values, atol=1e-6, rtol=0)
    assert not torch.allclose(drawn, change)
    assert torch.equal(values(name), again(name)) and not torch.equal(values(name), other(name))


def test_models_that_do_not_correspond_are_refused(_pocket):
    tuned, roberta = (load(tiny_model(name), tokenizer=_pocket.tokenizer) for name in ("bert", "roberta"))
    with pytest.raises(UserError, match=r"is a roberta and .* a bert: nothing can be exchanged"):
        weights_of_base(Weights(tuned), roberta)
    with pytest.raises(UserError, match=r"is \[24, 24\] in .* and \[18, 24\] in .*whole"):
        weights_of_base(Weights(tuned), tuned.cut("head:1.2"))


def test_a_parser_is_on_top_and_stays(_pocket):
    """Nothing that was put on an encoder is exchanged with its embeddings."""
    parser, other = (PLANTED["trees"].model(_pocket.tokenizer) for _ in range(2))
    weights = Weights(parser)
    assert not [name for name in weights.parameters if "parser" in name]
    assert any("parser" in name for name, _ in parser.model.base_model.named_parameters())
    bare = load(BertModel(parser.model.config).eval().to(DEVICE), tokenizer=_pocket.tokenizer)
    assert set(weights_of_base(weights, bare)) == set(weights.parameters) == set(weights_of_base(weights, other))
