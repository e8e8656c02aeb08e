"""Gates: nothing at 1, the defined replacement at 0, differentiable, and gone when the block ends."""

from __future__ import annotations

import pytest
import torch

from bertscope.core.errors import UserError
from bertscope.models.means import Means


def logits(encoder, batch):
    encoder.model.eval()
    with torch.no_grad():
        return encoder.model(**batch).logits


def test_gates_at_one_are_plain_transformers_with_padding(tiny, pocket, padded):
    batch = padded(tiny)
    assert (batch["attention_mask"] == 0).any()
    plain = logits(tiny, batch)
    with tiny.gates() as gates:
        assert torch.allclose(logits(tiny, batch), plain, atol=1e-5)
        gates.heads.requires_grad_(), gates.mlps.requires_grad_(), gates.layers.requires_grad_()
        assert torch.allclose(tiny.model(**batch).logits, plain, atol=1e-5)  # the same through the gated arithmetic
    hidden = pocket.model(**padded(pocket), output_hidden_states=True).hidden_states
    with pocket.gates():
        gated = pocket.model(**padded(pocket), output_hidden_states=True).hidden_states
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(hidden, gated, strict=True))


def test_head_off_equals_zeroed_projection_columns(tiny, padded):
    """The independent way to silence a head: zero the columns of the output projection that read it."""
    batch = padded(tiny)
    with tiny.gates(off=["head:2.3"]):
        gated = logits(tiny, batch)
    dense = tiny.model.bert.encoder.layer[1].attention.output.dense
    with torch.no_grad():
        dense.weight[:, 12:18] = 0  # head 3 of 4, 6 wide
    assert torch.allclose(gated, logits(tiny, batch), atol=1e-5)


def test_all_heads_off_keep_the_projection_bias(tiny, padded):
    batch = padded(tiny)
    dense = tiny.model.bert.encoder.layer[0].attention.output.dense
    with torch.no_grad():
        dense.bias.copy_(torch.linspace(-1, 1, 24))
    with tiny.gates(off=["heads:1"]):
        gated = logits(tiny, batch)
    with torch.no_grad():
        dense.weight.zero_()
    assert torch.allclose(gated, logits(tiny, batch), atol=1e-5)


def test_mlp_off_takes_its_bias_along(tiny, padded):
    batch = padded(tiny)
    dense = tiny.model.bert.encoder.layer[2].output.dense
    with torch.no_grad():
        dense.bias.copy_(torch.linspace(-1, 1, 24))
    with tiny.gates(off=["mlp:3"]):
        gated = logits(tiny, batch)
    with torch.no_grad():
        dense.weight.zero_(), dense.bias.zero_()
    assert torch.allclose(gated, logits(tiny, batch), atol=1e-5)


def test_layer_off_equals_a_model_without_it(tiny, padded):
    batch = padded(tiny)
    with tiny.gates(off=["layer:2"]):
        gated = logits(tiny, batch)
    del tiny.model.bert.encoder.layer[1]
    assert torch.allclose(gated, logits(tiny, batch), atol=1e-5)


def test_uniform_equals_zeroed_queries(tiny, padded):
    """A head whose queries are all zero attends equally to every key that isn't padding."""
    batch = padded(tiny)
    with tiny.gates(off=["head:1.2", "head:3.4"], mode="uniform"):
        gated = logits(tiny, batch)
    with torch.no_grad():
        for layer, rows in ((0, slice(6, 12)), (2, slice(18, 24))):
            query = tiny.model.bert.encoder.layer[layer].attention.self.query
            query.weight[rows] = 0
            query.bias[rows] = 0
    assert torch.allclose(gated, logits(tiny, batch), atol=1e-5)


def test_mean_replaces_by_the_average_over_real_tokens(tiny, texts, padded):
    means = tiny.means(texts)
    contexts, outputs = [], []
    layer = tiny.model.bert.encoder.layer[1]

    def listen():
        layer.attention.output.dense.register_forward_pre_hook(lambda module, args: contexts.append(args[0]))
        layer.output.dense.register_forward_hook(lambda module, args, output: outputs.append(output))

    batch = padded(tiny)
    listen()
    logits(tiny, batch)
    real = batch["attention_mask"].bool()
    assert torch.allclose(means.heads[1].flatten().float(), contexts[0][real].mean(0), atol=1e-5)
    assert torch.allclose(means.mlps[1].float(), outputs[0][real].mean(0), atol=1e-5)
    with tiny.gates(off=["head:2.1", "mlp:2"], mode="mean", reference=means):
        contexts.clear(), outputs.clear()
        listen()  # after the gates, so that this hears what they leave
        mixed = logits(tiny, batch)
    assert torch.allclose(contexts[-1][..., :6], means.heads[1][0].float().expand(*real.shape, 6), atol=1e-5)
    assert torch.allclose(outputs[-1], means.mlps[1].float().expand_as(outputs[-1]), atol=1e-5)
    assert not torch.allclose(mixed, logits(tiny, batch), atol=1e-3)


@pytest.mark.parametrize("mode", ["zero", "uniform", "mean"])
def test_gradients_at_the_gates_match_finite_differences(tiny, padded, mode):
    tiny.model.double()
    batch = padded(tiny)
    labels = torch.tensor([1, 0, 0, 1, 1, 0], device=tiny.device)
    means = Means(torch.randn(3, 4, 6, dtype=torch.double), torch.randn(3, 24, dtype=torch.double))

    def loss() -> torch.Tensor:
        return torch.nn.functional.cross_entropy(tiny.model(**batch).logits, labels)

    with tiny.gates(mode=mode, reference=means) as gates:
        for name in ("heads", "mlps", "layers"):
            gate = getattr(gates, name)
            gate.requires_grad_()
            (analytic,) = torch.autograd.grad(loss(), gate)
            gate.requires_grad_(False)
            for index in list(torch.cartesian_prod(*map(torch.arange, gate.shape)).reshape(-1, gate.ndim)):
                at, values = tuple(index.tolist()), []
                for step in (1e-5, -1e-5):
                    gate[at] = 1 + step
                    values.append(loss().item())
                gate[at] = 1
                assert analytic[at].item() == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-5, abs=1e-8)


def test_per_example_gates_give_per_example_gradients(tiny, padded):
    """One backward pass of the summed loss with [B, L, H] gates equals one pass per example."""
    batch, labels = padded(tiny), torch.tensor([1, 0, 0, 1, 1, 0], device=tiny.device)
    with tiny.gates() as gates:
        gates.heads = torch.ones(6, 3, 4, requires_grad=True, device=tiny.device)
        loss = torch.nn.functional.cross_entropy(tiny.model(**batch).logits, labels, reduction="sum")
        (together,) = torch.autograd.grad(loss, gates.heads)
    for row in range(6):
        one = {name: value[row : row + 1] for name, value in batch.items()}
        with tiny.gates() as gates:
            gates.heads.requires_grad_()
            loss = torch.nn.functional.cross_entropy(tiny.model(**one).logits, labels[row : row + 1])
            (alone,) = torch.autograd.grad(loss, gates.heads)
        assert torch.allclose(together[row], alone, atol=1e-5)


def test_blocks_nest_and_the_model_comes_back_after_an_exception(tiny, padded):
    batch = padded(tiny)
    plain, implementation = logits(tiny, batch), tiny.model.config._attn_implementation
    with tiny.gates(off=["head:1.1", "head:2.2"]):
        both = logits(tiny, batch)
    with tiny.gates(off=["head:1.1"]):
        one = logits(tiny, batch)
        with pytest.raises(RuntimeError, match="boom"), tiny.gates(off=["head:2.2"]):
            assert torch.allclose(logits(tiny, batch), both, atol=1e-6)
            raise RuntimeError("boom")
        assert torch.equal(logits(tiny, batch), one)
    assert torch.equal(logits(tiny, batch), plain)
    assert not torch.allclose(plain, one, atol=1e-3)
    assert tiny.model.config._attn_implementation == implementation
    for module in tiny.model.modules():
        assert not module._forward_hooks and not module._forward_pre_hooks
        assert not any("bertscope" in name for name in vars(module))


@pytest.mark.parametrize(
    ("off", "mode", "message"),
    [
        (["head:4.1"], "zero", "head:4.1: the model has layers 1 to 3"),
        (["head:1.5"], "zero", "head:1.5: layer 1 has heads 1 to 4"),
        (["layer:0"], "zero", "layer:0: the model has layers 1 to 3"),
        (["hed:1.1"], "zero", "'hed:1.1': unknown kind of part 'hed'; did you mean 'head'?"),
        (["head:1"], "zero", "'head:1': write it like head:3.7"),
        (["1.1"], "zero", "'1.1' names no part of a model"),
        ([], "median", "unknown mode 'median'"),
        ([], "mean", "mode 'mean' needs a reference: encoder.means(examples), on the validation set"),
        (
            [],
            "position",
            "mode 'position' needs a reference: encoder.means_by_place(examples), on the",
        ),
        ([], "resample", "mode 'resample' needs a reference: encoder.donors(examples), on the validation set"),
        ([], "optimal", "mode 'optimal' needs a reference: optimal_constants(encoder, output, examples, sets), on"),
    ],
)
def test_wrong_units_and_modes_are_refused(tiny, off, mode, message):
    with pytest.raises(UserError) as error, tiny.gates(off=off, mode=mode):
        pass
    assert str(error.value).startswith(message)
