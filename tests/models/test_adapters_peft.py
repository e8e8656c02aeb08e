"""LoRA adapters are merged as PEFT merges them. Skipped without PEFT; `test_adapters.py` has a case by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForSequenceClassification, AutoModelForTokenClassification

from bertscope.core.errors import UserError
from bertscope.models.load import load
from small_model_folders import small_folder, small_masked_folder, small_tokenizer

peft = pytest.importorskip("peft")

TEXTS = ["a good text .", "bad bad", "the text was"]


def trained(folder, base, opener, **how):
    """A model with an adapter on it whose weights aren't 0, written by PEFT; what PEFT then reads and merges."""
    torch.manual_seed(6)
    model = peft.get_peft_model(opener.from_pretrained(base, num_labels=2), peft.LoraConfig(**how))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_" in name or "modules_to_save" in name:
                weight.copy_(torch.randn_like(weight))
    model.save_pretrained(folder)
    again = peft.PeftModel.from_pretrained(opener.from_pretrained(base, num_labels=2), folder)
    return again.merge_and_unload().eval()


ADAPTERS = {
    "usual": (AutoModelForSequenceClassification, {"task_type": "SEQ_CLS", "target_modules": ["query", "value"]}),
    "all linear": (AutoModelForSequenceClassification, {"task_type": "SEQ_CLS", "target_modules": "all-linear"}),
    "patterns": (AutoModelForSequenceClassification, {
        "task_type": "SEQ_CLS", "target_modules": ["query", "key", "dense"], "use_rslora": True, "lora_alpha": 3,
        "rank_pattern": {"layer.0.attention.self.query": 3, "key": 1},
        "alpha_pattern": {"query": 5, "layer.1.attention.self.query": 7, "output.dense": 2},
    }),
    "embeddings": (AutoModelForSequenceClassification,
                   {"task_type": "SEQ_CLS", "target_modules": ["word_embeddings", "query"]}),
    "pooler whole": (AutoModelForSequenceClassification,
                     {"task_type": "SEQ_CLS", "target_modules": ["query"], "modules_to_save": ["pooler"]}),
    "tokens": (AutoModelForTokenClassification, {"task_type": "TOKEN_CLS", "target_modules": ["value"]}),
    "encoder": (AutoModel, {"task_type": "FEATURE_EXTRACTION", "target_modules": ["value"]}),
    "no task": (AutoModelForSequenceClassification, {"target_modules": ["value"], "modules_to_save": ["classifier"],
                                                     "fan_in_fan_out": True}),
}  # fmt: skip


@pytest.mark.parametrize("case", ADAPTERS)
def test_it_is_merged_as_peft_merges_it(case, tmp_path):
    base = small_masked_folder(tmp_path / "base")
    opener, how = ADAPTERS[case]
    merged = trained(tmp_path / "made", base, opener, **how)
    encoder = load(tmp_path / "made", device="cpu")
    assert type(encoder.model) is type(merged)
    state = merged.state_dict()
    assert state.keys() == encoder.model.state_dict().keys()
    for name, weight in encoder.model.state_dict().items():
        torch.testing.assert_close(weight, state[name], atol=1e-6, rtol=1e-6)
    inputs = encoder.tokenizer(TEXTS, padding=True, return_tensors="pt")
    with torch.inference_mode():
        np.testing.assert_allclose(encoder.model(**inputs)[0], merged(**inputs)[0], atol=1e-5)


LAYERS = {
    "distilbert": ["q_lin", "v_lin", "lin1"], "roberta": "all-linear", "modernbert": "all-linear",
    "albert": "all-linear", "deberta-v2": "all-linear",
}  # fmt: skip


@pytest.mark.parametrize("family", LAYERS)
def test_other_families(family, tmp_path):
    base = small_folder(tmp_path / "base", family, num_labels=2)
    how = {"task_type": "SEQ_CLS", "target_modules": LAYERS[family]}
    merged = trained(tmp_path / "made", base, AutoModelForSequenceClassification, **how)
    encoder = load(tmp_path / "made", device="cpu")
    for name, weight in encoder.model.state_dict().items():
        torch.testing.assert_close(weight, merged.state_dict()[name], atol=1e-6, rtol=1e-6)


def test_what_peft_draws_and_doesnt_save_is_lost(tmp_path):
    """The pooler of a DeBERTa's classifier is drawn at random and, by default, not saved: nobody has that model."""
    small_folder(tmp_path / "base", "deberta-v2")
    AutoModel.from_pretrained(tmp_path / "base").save_pretrained(tmp_path / "bare")
    small_tokenizer().save_pretrained(tmp_path / "bare")
    how = {"task_type": "SEQ_CLS", "target_modules": ["query_proj"]}
    trained(tmp_path / "made", tmp_path / "bare", AutoModelForSequenceClassification, **how)
    with pytest.raises(UserError, match=r"holds 'pooler\.dense'.*modules_to_save=\['pooler\.dense'\]"):
        load(tmp_path / "made")
    how["modules_to_save"] = ["pooler.dense"]
    trained(tmp_path / "whole", tmp_path / "bare", AutoModelForSequenceClassification, **how)
    assert load(tmp_path / "whole").task_head == "classifier"
