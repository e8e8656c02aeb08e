"""Training with parts frozen: what stays as it was, what is run once, and what memory that spares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from bertscope.core.errors import UserError
from bertscope.core.layers import Layers
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from bertscope.models.new_task_head import with_classifier
from bertscope.training import loop, prefix
from bertscope.training.finetune.question import FinetuneConfig, finetune
from bertscope.training.frozen import by_rate, frozen, rest
from bertscope.training.loop import train
from bertscope.training.memory import KeptForBackward
from bertscope.training.objective import Labelled
from device import DEVICE, on_cpu
from families import MARKED, tiny_model
from short_training import make_task, same, stop_in_epoch

EVERY = pytest.mark.parametrize("name", MARKED)
QUICK = FinetuneConfig(epochs=2, learning_rate=2e-3, batch_size=8, warmup=0.1)
TASK = make_task()


@pytest.fixture
def encoder(name, _pocket) -> Encoder:
    """A classifier of the family, fresh from its base."""
    return with_classifier(load(tiny_model(name).to(DEVICE), tokenizer=_pocket.tokenizer), ("no", "yes"), seed=0)


def held(name: str) -> str:
    return "embeddings,1-3" if name == "albert" else "embeddings,1-2"  # one block for all layers


def without_dropout(encoder: Encoder) -> Encoder:
    for module in encoder.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return encoder


def counted(block: nn.Module) -> list[None]:
    """Grows by one whenever the block is computed."""
    calls: list[None] = []
    compute = block.forward

    def forward(*args, **kwargs):
        calls.append(None)
        return compute(*args, **kwargs)

    block.forward = forward
    return calls


def state(encoder: Encoder) -> dict[str, torch.Tensor]:
    return {key: value.clone() for key, value in encoder.model.state_dict().items()}


@EVERY
def test_frozen_is_bit_equal_after_training_and_the_rest_is_not(encoder, name):
    before, needed = state(encoder), [parameter.requires_grad for parameter in encoder.model.parameters()]
    with frozen(encoder, Layers.parse(held(name))):
        still = {key for key, parameter in encoder.model.named_parameters() if not parameter.requires_grad}
    train(encoder, Labelled(encoder, TASK), replace(QUICK, frozen=held(name)), out=None, resume=False)
    moved = {key for key, value in state(encoder).items() if not torch.equal(value, before[key])}
    assert moved and not moved & still
    # Everything under layer 3, whatever the family calls it; the pooler and what closes the layers are trained.
    under = {key for key in before if not ("layer.2." in key or "layers.2." in key)}
    closing = ("final_norm", "norm", "LayerNorm", "encoder.LayerNorm", "encoder.ln")
    top = ("classifier", "pre_classifier", "pooler", "head", "dense", *closing)
    base = f"{encoder.model.base_model_prefix}."
    above = {key for key in under if key.removeprefix(base).startswith(top)}
    assert still == {key for key in under - above if key in dict(encoder.model.named_parameters())}
    assert [parameter.requires_grad for parameter in encoder.model.parameters()] == needed, "given back as it was"


@EVERY
def test_no_graph_below_the_lowest_trained_layer(encoder, padded, name):
    settled = 3 if name == "albert" else 2
    seen = []

    def look(module, args, output):
        seen.append(output[0] if isinstance(output, tuple) else output)

    hooks = [block.register_forward_hook(look) for block in dict.fromkeys(encoder.layers)]
    with frozen(encoder, Layers.parse(held(name))) as found:
        assert found == settled
        encoder.model.train()
        encoder.model(**padded(encoder)).logits.sum().backward()
        grads = {key for key, parameter in encoder.model.named_parameters() if parameter.grad is not None}
        assert grads == {key for key, parameter in encoder.model.named_parameters() if parameter.requires_grad}
    assert [output.requires_grad for output in seen] == [False] * settled + [True] * (3 - settled)
    for hook in hooks:
        hook.remove()


@EVERY
def test_frozen_layers_have_no_dropout_unless_asked(encoder, padded, name):
    def twice() -> bool:
        outputs = []
        hook = encoder.layers[1].register_forward_hook(lambda module, args, output: outputs.append(output))
        for _ in range(2):
            encoder.model(**padded(encoder))
        hook.remove()
        one, other = (out[0] if isinstance(out, tuple) else out for out in (outputs[0], outputs[len(outputs) // 2]))
        return torch.equal(one, other)

    with frozen(encoder, Layers.parse(held(name))):
        encoder.model.train()
        has_dropout = any(module.p > 0 for module in encoder.layers[0].modules() if isinstance(module, nn.Dropout))
        assert twice() != has_dropout
        rest(encoder.model)
        assert twice()


@EVERY
def test_layers_run_once_give_the_weights_of_layers_run_every_time(encoder, name):
    """In double precision: in single, Adam makes steps of full size of the rounding of gradients that are 0."""
    weights, calls = [], []
    config = replace(QUICK, frozen=held(name), weight_decay=0.01)
    for keep in (True, False):
        one = without_dropout(with_classifier(encoder, ("no", "yes"), seed=0))
        one.model.double()
        computed = counted(one.layers[0])
        train(one, Labelled(one, TASK), config, out=None, resume=False, keep_prefix=keep)
        calls.append(len(computed))
        weights.append(state(one))
    assert calls[0] < calls[1], "the layer is computed less often"
    for key, value in weights[0].items():
        assert torch.allclose(value, weights[1][key], rtol=0, atol=1e-9), key


@pytest.mark.parametrize("name", ["bert", "modernbert"])
def test_in_single_precision_the_two_agree_in_what_they_say(encoder, name):
    outputs = []
    for keep in (True, False):
        one = without_dropout(with_classifier(encoder, ("no", "yes"), seed=0))
        train(one, Labelled(one, TASK), replace(QUICK, frozen=held(name)), out=None, resume=False, keep_prefix=keep)
        outputs.append(one.predict(TASK.test).logits)
    assert np.allclose(*outputs, atol=1e-5)


@on_cpu
@pytest.mark.parametrize("frozen_parts", ["embeddings,1-2", "encoder", "2", "embeddings"])
def test_a_stopped_training_goes_on_to_the_same_weights(tiny, tmp_path, monkeypatch, frozen_parts):
    config = replace(QUICK, epochs=3, frozen=frozen_parts, weight_decay=0.01)
    whole = finetune(tiny, TASK, config)
    with monkeypatch.context() as patch:
        stop_in_epoch(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            finetune(tiny, TASK, config, out=tmp_path / "model")
    resumed = finetune(tiny, TASK, config, out=tmp_path / "model")
    assert same(resumed.encoder, whole.encoder) and resumed.result.equals(whole.result)
    assert same(load(tmp_path / "model"), whole.encoder)


@on_cpu
def test_what_is_too_much_for_memory_goes_to_a_file_that_goes_too(tiny, tmp_path, monkeypatch):
    config = replace(QUICK, frozen="embeddings,1-2")
    whole = finetune(tiny, TASK, config)
    monkeypatch.setattr(prefix, "_IN_MEMORY", 0)
    seen = []
    plain = torch.from_file
    monkeypatch.setattr(torch, "from_file", lambda *a, **k: seen.append(list(tmp_path.iterdir())) or plain(*a, **k))
    on_disk = finetune(tiny, TASK, config, out=tmp_path / "model")
    assert len(seen) == len(seen[0]) == 1 and [path.name for path in tmp_path.iterdir()] == ["model"]
    assert same(on_disk.encoder, whole.encoder)
    monkeypatch.setattr(prefix, "_FREE", 1e12)  # no disk has that
    ran_every_time = finetune(tiny, TASK, config)
    assert np.allclose(ran_every_time.result.arrays["outputs"], whole.result.arrays["outputs"], atol=1e-4)


def test_another_pass_than_the_batchs_own_is_computed(tiny, texts):
    """A loss may read texts of its own; only the batch's own pass reads what is kept."""
    made = with_classifier(tiny, ("no", "yes"))
    objective = Labelled(made, TASK)
    with frozen(made, Layers.parse("encoder")) as settled:
        kept = prefix.Prefix.of(made, objective.tokens, settled, None)
        batch = objective.batch(np.array([0, 3]))
        copied = {key: value.clone() for key, value in batch.inputs.items()}
        kept._states.zero_()  # now one sees who reads them
        plain = made.model(**batch.inputs).logits
        with kept.instead(batch):
            read, other = made.model(**batch.inputs).logits, made.model(**copied).logits
        assert torch.equal(other, plain) and not torch.allclose(read, plain)
        assert torch.equal(made.model(**batch.inputs).logits, plain)
        assert all("forward" not in vars(block) for block in made.layers)


def test_what_is_kept_has_no_dropout_in_it(tiny):
    """It is what the layer gives to each text by itself, in a model that isn't training."""
    made = with_classifier(tiny, ("no", "yes"))
    tokens = Labelled(made, TASK).tokens
    made.model.train()
    kept = prefix.Prefix.of(made, tokens, 2, None)._states
    made.model.eval()
    for row, text in enumerate(TASK.train.text):
        coded = made.tokenizer(text, return_tensors="pt").to(made.device)
        with torch.no_grad():
            plain = made.model(**coded, output_hidden_states=True).hidden_states[2][0]
        mine = kept[tokens.starts[row] : tokens.starts[row] + tokens.lengths[row]]
        assert torch.allclose(mine, plain, atol=1e-5)


@pytest.mark.parametrize(
    ("which", "settled"),
    [
        ("1-2", 0),
        ("embeddings,2", 0),
        ("embeddings,1+3", 1),
        ("embeddings", 0),
        ("embeddings,1-3", 3),
        ("encoder", 3),
    ],
)
def test_only_layers_with_nothing_trained_under_them_are_run_once(tiny, which, settled):
    with frozen(tiny, Layers.parse(which)) as found:
        assert found == settled


@EVERY
def test_all_but_the_classifier(encoder, name):
    with frozen(encoder, Layers.parse("encoder")):
        left = {key for key, one in encoder.model.base_model.named_parameters() if one.requires_grad}
        assert all(key.startswith("pooler") for key in left)
        assert any(one.requires_grad for one in encoder.model.parameters())


def test_the_optimiser_holds_what_is_trained(tiny):
    made = with_classifier(tiny, ("no", "yes"))
    with frozen(made, Layers.parse("encoder")):
        run = loop.Training(made, Labelled(made, TASK), QUICK, None)
        listed = [parameter for group in run.optimizer.param_groups for parameter in group["params"]]
    on_top = [*made.model.base_model.pooler.parameters(), *made.model.classifier.parameters()]
    assert {id(parameter) for parameter in listed} == {id(parameter) for parameter in on_top}


def test_what_is_on_top_has_a_rate_of_its_own_also_where_it_alone_is_trained(tiny):
    made = with_classifier(tiny, ("no", "yes"))
    for which, times in (("", {1.0, 4.0}), ("encoder", {4.0})):
        with frozen(made, Layers.parse(which)):
            run = loop.Training(made, Labelled(made, TASK), replace(QUICK, head_rate=4.0), None)
        assert {group["times"] for group in run.optimizer.param_groups} == times
    alone = replace(QUICK, epochs=1, frozen="encoder")
    slow, times = (
        finetune(tiny, TASK, config).encoder
        for config in (replace(alone, learning_rate=4 * QUICK.learning_rate), replace(alone, head_rate=4.0))
    )
    assert same(slow, times) and not same(slow, finetune(tiny, TASK, alone).encoder)
    bare = Encoder(tiny.model.base_model, tiny.tokenizer, "bare", tiny.family, "none")
    with pytest.raises(UserError, match="head-rate is 4, but bare has no head that is trained; leave it out"):
        by_rate(bare, list(bare.model.parameters()), 4.0)


def test_bytes_kept_for_the_backward_pass_by_hand():
    linear, inputs = nn.Linear(3, 5), torch.randn(7, 3, requires_grad=True)
    with (kept := KeptForBackward(linear)):
        (linear(inputs).relu() + linear(inputs)).sum()
    assert kept.bytes == 4 * (7 * 3 + 7 * 5), "the input once, the ReLU's output; no weights"
    for parameter in linear.parameters():
        parameter.requires_grad_(False)
    with (nothing := KeptForBackward(linear)):
        linear(inputs.detach()).relu().sum()
    assert nothing.bytes == 0


def test_memory_falls_as_more_is_frozen(tiny):
    kept = [
        finetune(tiny, TASK, replace(QUICK, epochs=1, frozen=which)).result.provenance
        for which in ("", "embeddings", "embeddings,1", "embeddings,1-2", "encoder")
    ]
    for name in ("activation_bytes", "trained_parameters"):
        values = [each[name] for each in kept]
        assert values == sorted(set(values), reverse=True), name
    assert len({each["parameters"] for each in kept}) == 1
    layer = sum(parameter.numel() for parameter in tiny.layers[0].parameters())
    assert kept[1]["trained_parameters"] - kept[2]["trained_parameters"] == layer


def test_shared_blocks_are_frozen_together(_pocket):
    albert = load(tiny_model("albert"), tokenizer=_pocket.tokenizer)
    with (
        pytest.raises(UserError, match="one block for many layers: freeze all 3 of them, or none"),
        frozen(albert, Layers.parse("1-2")),
    ):
        pass
