"""A layer's output changed in the forward pass: replayed and plain agree, for classifiers and masked LMs."""

from __future__ import annotations

import copy
from contextlib import ExitStack

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, BertConfig, BertForPreTraining

from bertscope.core.errors import UserError
from bertscope.core.hashing import hashed, mixed, to_unit
from bertscope.models.families import descend
from bertscope.models.intervene import MASKED, Change, _changed, _read, _running, masked_losses, run_with
from bertscope.models.judge import Keeping
from bertscope.models.load import load
from bertscope.models.outputs.kinds import model_output
from bertscope.models.states import hidden_states
from bertscope.models.taps import Tap, tapped
from device import DEVICE
from families import _COMMON, CONFIGS, MARKED, tiny_model
from six_sentences import SENTENCES


def bent(states: torch.Tensor) -> torch.Tensor:
    """A change that is different for every number."""
    return states * torch.linspace(0.2, 1.3, states.shape[-1], device=states.device) + 0.1


class _Plain(Tap):
    """The same change without replay: of what the next layer gets, and behind the last what the encoder puts out."""

    def __init__(self, encoder, layer: int, special: torch.Tensor) -> None:
        self._encoder, self._layer, self._special = encoder, layer, special[..., None]

    def _bent(self, states: torch.Tensor) -> torch.Tensor:
        return torch.where(self._special, states, bent(states))

    def on_input(self, layer, inputs):
        return self._bent(inputs) if layer == self._layer else inputs

    def on_layer(self, layer, before, after):
        last = layer + 1 == self._layer == self._encoder.n_layers
        return self._bent(after) if last and not self._encoder.family.closing else after

    def logits(self, batch):
        """What the model says of a batch with the change."""
        closing = self._encoder.family.closing if self._layer == self._encoder.n_layers else ""
        with torch.inference_mode(), tapped(self._encoder, self), ExitStack() as until:
            if closing:
                norm = descend(self._encoder.model.base_model, closing)
                until.callback(norm.register_forward_hook(lambda _, args, out: self._bent(out)).remove)
            return self._encoder.model(**batch)


def logits_with(encoder, texts, changes) -> np.ndarray:
    """[change, example, class]"""
    asked = model_output(encoder)
    keeping = Keeping(asked, texts, len(changes))
    run_with(asked, texts, changes, keeping.take)
    return keeping.kept().logits


def special(encoder, batch) -> torch.Tensor:
    tokenizer = encoder.tokenizer
    wanted = (tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id)
    return torch.isin(batch["input_ids"], torch.tensor(wanted, device=batch["input_ids"].device))


@pytest.mark.parametrize("family", MARKED)
def test_a_replayed_change_is_the_change(family, _pocket, texts, padded):
    encoder = load(tiny_model(family).to(DEVICE), tokenizer=_pocket.tokenizer)
    layers = range(encoder.n_layers + 1)
    found = logits_with(encoder, texts, [None, *(Change(layer, bent) for layer in layers)])
    np.testing.assert_allclose(found[0], encoder.predict(texts).logits, atol=1e-5)
    batch = padded(encoder)
    for layer in layers:
        expected = _Plain(encoder, layer, special(encoder, batch)).logits(batch).logits.cpu().numpy()
        np.testing.assert_allclose(found[1 + layer], expected, atol=2e-5)
        # [CLS] keeps its last state: what words have there is nobody's, where the classifier reads [CLS].
        unread = layer == encoder.n_layers and encoder.family.reads_first_token(encoder.model.config)
        assert (np.abs(found[1 + layer] - found[0]).max() > 1e-3) == (not unread)


@pytest.mark.parametrize("family", MARKED)
def test_what_is_changed_is_what_hidden_states_hold(family, _pocket, texts):
    """Erasers learn from a store: what they meet must be the same, behind a closing norm as well."""
    encoder = load(tiny_model(family, AutoModel).to(DEVICE), tokenizer=_pocket.tokenizer)
    stored, met = hidden_states(encoder, texts, pool="token"), []
    changes = [Change(layer, lambda states: met.append(states) or states) for layer in range(encoder.n_layers + 1)]
    with _running(encoder, 0):
        (batch,) = _read(encoder, texts)
        list(_changed(encoder, lambda: encoder.model(**batch.inputs), batch.special, changes))
    for layer, states in enumerate(met):
        for row, example in enumerate(batch.rows):
            own = states[row][~batch.special[row]].cpu().numpy()
            np.testing.assert_allclose(own, stored.sentence(int(example))[:, layer], atol=1e-4)


def test_layer_0_is_what_the_embeddings_put_out(tiny, texts, padded):
    found = logits_with(tiny, texts, [Change(0, bent)])[0]
    batch = padded(tiny)
    kept = special(tiny, batch)[..., None]
    hook = tiny.model.bert.embeddings.register_forward_hook(
        lambda module, args, out: torch.where(kept, out, bent(out))
    )
    with torch.inference_mode():
        expected = tiny.model(**batch).logits.cpu().numpy()
    hook.remove()
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_model_is_left_as_it_was(tiny, texts):
    before, state = tiny.predict(texts).logits, copy.deepcopy(vars(tiny.layers[0]))
    logits_with(tiny, texts, [Change(1, bent), Change(0, bent)])
    assert np.array_equal(tiny.predict(texts).logits, before)
    assert vars(tiny.layers[0]).keys() == state.keys()
    assert not tiny.layers[0]._forward_pre_hooks and not tiny.layers[0]._forward_hooks


def _pretrained(family: str):
    if family == "bert":
        config = BertConfig(**{k: v for k, v in _COMMON.items() if k != "num_labels"})
        model = BertForPreTraining(config)
    else:
        common = {
            k: v for k, v in _COMMON.items()
            if family != "distilbert" or not k.startswith(("hidden", "num_h", "num_a", "inter"))
        }  # fmt: skip
        model = AutoModelForMaskedLM.from_config(AutoConfig.for_model(family, **common | CONFIGS[family]))
    return model.eval().to(DEVICE)


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert", "albert", "modernbert", "deberta-v2", "mpnet"])
def test_masked_losses_are_those_of_the_whole_output(family, _pocket, texts):
    torch.manual_seed(3)
    encoder = load(_pretrained(family), tokenizer=_pocket.tokenizer)
    found = masked_losses(encoder, texts, [None, Change(1, bent)], seed=5)
    tokenizer, keys = encoder.tokenizer, hashed(texts.ids, 5)
    for row, text in enumerate(SENTENCES):
        batch = tokenizer(text, return_tensors="pt", return_token_type_ids=family == "bert").to(DEVICE)
        ids = batch["input_ids"][0]
        luck = to_unit(mixed(keys[row], np.arange(len(ids), dtype=np.uint64)))
        chosen = torch.from_numpy(luck < MASKED).to(DEVICE) & (ids != tokenizer.cls_token_id)
        chosen &= ids != tokenizer.sep_token_id
        assert found.counts[row] == chosen.sum().item()
        kept = special(encoder, batch)
        batch["input_ids"] = torch.where(chosen, tokenizer.mask_token_id, ids)[None]
        for place in (0, 1):
            output = _Plain(encoder, 1 if place else -1, kept).logits(batch)
            logits = (output.prediction_logits if "prediction_logits" in output else output.logits)[0]
            expected = cross_entropy(logits[chosen], ids[chosen], reduction="sum").item() if chosen.any() else 0.0
            assert found.sums[place, row] == pytest.approx(expected, abs=1e-4)
    assert found.counts.sum() > 3


def test_what_can_not_guess_is_refused(tiny, texts):
    with pytest.raises(UserError, match="doesn't guess masked words"):
        masked_losses(tiny, texts, [None])
