"""Every family through the same view: plain transformers at 1, the right thing gone at 0."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bertscope.core.examples import Examples
from bertscope.core.units import Unit, every
from bertscope.models.families import FAMILIES, descend
from bertscope.models.judge import predict_without
from bertscope.models.load import load
from bertscope.models.observe import observe
from device import DEVICE
from families import CONFIGS, tiny_model
from random_parts import outputs_without_random_parts

SHIFTED = ("roberta", "xlm-roberta", "camembert", "data2vec-text", "roberta-prelayernorm", "xlm-roberta-xl")
EVERY = pytest.mark.parametrize("name", CONFIGS)


@pytest.fixture
def encoder(name, _pocket):
    return load(tiny_model(name).to(DEVICE), tokenizer=_pocket.tokenizer)


@pytest.fixture
def batch(encoder, texts):
    batch = encoder.tokenizer(list(texts.text), padding=True, return_tensors="pt").to(encoder.device)
    assert (batch["attention_mask"] == 0).any()
    return batch


def run(encoder, batch, **how):
    with torch.no_grad():
        return encoder.model(**batch, **how)


class Keep:
    needs = frozenset({"maps", "contexts", "hidden_states", "mlps", "logits"})

    def update(self, batch, seen):
        self.batch, self.seen = batch, seen[0]


def test_every_family_of_the_table_is_tested():
    assert set(CONFIGS) == set(FAMILIES)


@EVERY
def test_the_view(encoder, name):
    assert (encoder.n_layers, encoder.n_heads, encoder.head_size) == (3, 4, 6)
    assert encoder.head_counts == [4, 4, 4] and encoder.neuron_counts == [40, 40, 40]
    assert encoder.max_length == (62 if name == "mpnet" else 63 if name in SHIFTED else 64)


@EVERY
def test_a_text_may_be_longer_than_the_model_reads(encoder):
    """To the last position: a family whose positions are shifted has fewer than its embeddings."""
    predicted = encoder.predict(["good " * 500])
    assert predicted.truncated == 1 and np.isfinite(predicted.logits).all()


@EVERY
def test_gates_at_one_are_plain_transformers(encoder, batch):
    plain = run(encoder, batch, output_hidden_states=True)
    with encoder.gates() as gates:
        gates.heads.requires_grad_(), gates.mlps.requires_grad_(), gates.layers.requires_grad_()
        gated = encoder.model(**batch, output_hidden_states=True)
    assert torch.allclose(gated.logits, plain.logits, atol=1e-5)
    for one, other in zip(plain.hidden_states, gated.hidden_states, strict=True):
        real = batch["attention_mask"].bool()
        assert torch.allclose(one[real], other[real], atol=1e-5)
    assert torch.equal(run(encoder, batch).logits, plain.logits), "and the model is as it was"


@EVERY
def test_maps_and_hidden_states_are_the_librarys(encoder, texts, batch, name):
    keep = Keep()
    observe([encoder], texts, [keep], tokens=10_000)
    order = keep.batch.rows
    if not encoder.family.hooked:
        encoder.model.set_attn_implementation("eager")
    plain = run(encoder, batch, output_attentions=True, output_hidden_states=True)
    real = batch["attention_mask"].bool()[order]
    rows = real[:, None, :, None].expand_as(keep.seen.maps[0])
    for ours, theirs in zip(keep.seen.maps, plain.attentions, strict=True):
        assert torch.allclose(ours[rows], theirs[order][rows], atol=1e-6)
    for ours, theirs in zip(keep.seen.hidden_states, plain.hidden_states, strict=True):
        assert torch.allclose(ours[real], theirs[order][real], atol=1e-5)
    assert torch.allclose(keep.seen.logits, plain.logits[order], atol=1e-5)


@EVERY
def test_heads_off_leave_zero_uniform_or_mean(encoder, texts, name):
    """Against the definition, from the library's own maps: uniform over the keys a query gives any weight to."""
    plain, keep = Keep(), Keep()
    observe([encoder], texts, [plain], tokens=10_000)
    means = encoder.means(texts)
    values = {}
    value = encoder.family.value
    if value:  # read the values of layer 2 where the maps don't give them away
        descend(encoder.layers[1], value).register_forward_hook(lambda m, a, out: values.update(v=out))
    for mode in ("zero", "uniform", "mean"):
        with encoder.gates(off=["head:2.3"], mode=mode, reference=means):
            observe([encoder], texts, [keep], tokens=10_000)
        got, before = keep.seen.contexts[1], plain.seen.contexts[1]
        others = [0, 1, 3]
        assert torch.allclose(got[:, :, others], before[:, :, others], atol=1e-5)
        real = plain.batch.inputs["attention_mask"].bool()
        mine = got[:, :, 2][real]
        if mode == "zero":
            assert (mine == 0).all()
        elif mode == "mean":
            assert torch.allclose(mine, means.heads[1, 2].float().expand_as(mine), atol=1e-5)
        else:
            allowed = (plain.seen.maps[1][:, 2] > 0).float()
            uniform = allowed / allowed.sum(-1, keepdim=True)
            if value:
                v = values["v"].unflatten(-1, (4, 6))[:, :, 2]
            else:  # solve maps @ v = context for v, row by row of the batch
                rows = zip(plain.seen.maps[1][:, 2].double().cpu(), before[:, :, 2].double().cpu(), strict=True)
                v = torch.stack([torch.linalg.lstsq(m, c, driver="gelsd").solution for m, c in rows])
                v = v.float().to(encoder.device)
            assert torch.allclose(mine, (uniform @ v)[real], atol=1e-3)


@EVERY
def test_mlps_and_layers_off(encoder, batch, name):
    with encoder.gates(off=["layer:2"]):
        hidden = run(encoder, batch, output_hidden_states=True).hidden_states
    real = batch["attention_mask"].bool()
    assert torch.equal(hidden[2][real], hidden[1][real])
    with encoder.gates(off=["mlp:3", "heads:3"]):
        gated = run(encoder, batch).logits
    if name == "albert":
        return  # one block for all layers: see below
    block = encoder.layers[2]
    _, projection, _, mlp_out = encoder.parts(block)
    with torch.no_grad():
        projection.weight.zero_(), mlp_out.weight.zero_()
        if mlp_out.bias is not None:
            mlp_out.bias.zero_()
    assert torch.allclose(gated, run(encoder, batch).logits, atol=1e-5)


def test_albert_gated_in_one_layer_equals_an_albert_with_a_block_per_layer(_pocket, texts):
    shared = tiny_model("albert")
    apart = tiny_model("albert", num_hidden_groups=3)
    groups = "albert.encoder.albert_layer_groups"
    state = {
        name.replace(f"{groups}.0", f"{groups}.{group}"): tensor
        for name, tensor in shared.state_dict().items()
        for group in (range(3) if groups in name else range(1))
    }
    apart.load_state_dict(state)
    one, other = (load(model, tokenizer=_pocket.tokenizer) for model in (shared.to(DEVICE), apart.to(DEVICE)))
    assert len(set(one.layers)) == 1 and len(set(other.layers)) == 3
    sets = [[Unit("head", 2, 1)], [Unit("mlp", 3)], [Unit("layer", 1)], [Unit("heads", 2), Unit("head", 3, 4)]]
    assert np.allclose(
        predict_without(one, texts, sets).logits, predict_without(other, texts, sets).logits, atol=1e-5
    )


@EVERY
@pytest.mark.parametrize("mode", ["zero", "uniform"])
def test_replay_equals_brute_force_for_every_unit(encoder, texts, name, mode):
    sets = [[], *([unit] for kind in ("head", "heads", "mlp", "layer") for unit in every(kind, encoder.head_counts))]
    fast = predict_without(encoder, texts, sets, mode=mode, tokens=80).logits
    slow = predict_without(encoder, texts, sets, mode=mode, tokens=10_000, replay=False).logits
    assert np.allclose(fast, slow, atol=1e-5)
    assert np.abs(slow[1:] - slow[0]).max((1, 2)).min() > 1e-4, "every unit matters"
    assert all("forward" not in vars(module) for module in encoder.model.modules())


@EVERY
def test_a_random_part_in_a_heads_place_is_taken_out_by_replay_as_by_brute_force(encoder, texts, name):
    heads = [Unit("head", 1, 2), Unit("head", encoder.n_layers, 1)]
    fast, slow = (outputs_without_random_parts(encoder, texts, heads, 1, "zero", replay) for replay in (True, False))
    np.testing.assert_allclose(fast, slow, atol=1e-5)
    assert np.abs(fast - encoder.predict(texts).logits).max((1, 2)).min() > 1e-6


@EVERY
def test_pairs_and_training_mode(encoder, texts):
    """Pairs keep their segments where the family has them; a pass leaves training mode as it found it."""
    pairs = Examples(texts.ids, texts.text, pair=texts.text[::-1], label=texts.label)
    encoder.model.train()
    logits = encoder.predict(pairs, tokens=64).logits
    assert encoder.model.training
    encoder.model.eval()
    one = encoder.tokenizer(texts.text[1], texts.text[-2], return_tensors="pt").to(encoder.device)
    assert np.allclose(logits[1], run(encoder, one).logits[0].cpu(), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("modernbert", {"classifier_pooling": "mean"}),
        ("eurobert", {"classifier_pooling": "mean"}),
        ("eurobert", {"classifier_pooling": "late"}),
        ("deberta-v2", {"num_hidden_layers": 1}),
    ],
)
def test_classifiers_that_read_more_than_the_first_row_get_them_all(name, changes, _pocket, texts):
    encoder = load(tiny_model(name, **changes).to(DEVICE), tokenizer=_pocket.tokenizer)
    logits = encoder.predict(texts).logits
    for row, text in enumerate(texts.text):
        one = encoder.tokenizer(text, return_tensors="pt").to(encoder.device)
        assert np.allclose(logits[row], run(encoder, one).logits[0].cpu(), atol=1e-5)


@EVERY
def test_predictions_are_the_librarys(encoder, texts, name):
    """Of every family, sentence by sentence: the rows that are left out of the last layer are not missed."""
    logits = encoder.predict(texts, tokens=80).logits
    for row, text in enumerate(texts.text):
        one = encoder.tokenizer(text, return_tensors="pt").to(encoder.device)
        assert np.allclose(logits[row], run(encoder, one).logits[0].cpu(), atol=1e-5)
