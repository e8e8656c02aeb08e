"""mmBERT is a ModernBERT with Gemma's tokenizer: 256,000 tokens, no segments, <bos> first, padded on the left."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tokenizers import processors
from transformers import AutoConfig, AutoModelForMaskedLM, GemmaTokenizer

import bertscope
from bertscope.core.examples import Examples
from bertscope.models.load import load
from short_training import QUICK, make_task
from six_sentences import SENTENCES

# After mmBERT's config, which no test can fetch: its vocabulary, ropes and special tokens, with tiny widths.
MMBERT = {
    "vocab_size": 256_000, "hidden_size": 24, "num_hidden_layers": 4, "num_attention_heads": 4,
    "intermediate_size": 36, "max_position_embeddings": 8192, "local_attention": 4, "global_attn_every_n_layers": 3,
    "global_rope_theta": 160_000, "local_rope_theta": 160_000, "position_embedding_type": "sans_pos",
    "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2, "cls_token_id": 1, "sep_token_id": 1,
    "mask_token_id": 4, "hidden_activation": "gelu", "attention_bias": False, "mlp_bias": False, "norm_bias": False,
    "decoder_bias": True, "sparse_prediction": True, "tie_word_embeddings": True, "initializer_range": 0.3,
}  # fmt: skip


def gemma_tokenizer() -> GemmaTokenizer:
    """Characters, and bytes for what isn't one of them."""
    known = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", *(f"<0x{byte:02X}>" for byte in range(256))]
    characters = sorted({character for text in SENTENCES for character in text.replace(" ", "▁")} | {"▁"})
    tokenizer = GemmaTokenizer(vocab={token: place for place, token in enumerate(known + characters)}, merges=[])
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A <eos>", pair="<bos> $A <eos> $B <eos>", special_tokens=[("<bos>", 2), ("<eos>", 1)]
    )
    return tokenizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mmbert")
    torch.manual_seed(0)
    AutoModelForMaskedLM.from_config(AutoConfig.for_model("modernbert", **MMBERT)).save_pretrained(folder)
    gemma_tokenizer().save_pretrained(folder)
    return folder


def test_it_opens_is_trained_cut_and_opened_again(folder, tmp_path):
    encoder = load(folder)
    assert encoder.task_head == "masked-lm" and encoder.max_length == 8192
    assert encoder.model.config.layer_types == ["full_attention", *["sliding_attention"] * 2, "full_attention"]
    texts = Examples(SENTENCES, SENTENCES)
    assert bertscope.patterns(encoder, list(SENTENCES)).table["share"].sum() == pytest.approx(1)
    trained = bertscope.finetune(encoder, make_task(), epochs=1, batch_size=QUICK.batch_size).encoder
    alone = np.concatenate([trained.predict([text]).logits for text in SENTENCES])
    assert np.allclose(trained.predict(texts).logits, alone, atol=1e-5), "padding changes nothing"
    off = ["head:1.2", "heads:2", "neuron:2.7", "mlp:3"]
    smaller = trained.cut(off)
    with trained.gates(off=off):
        assert np.allclose(trained.predict(texts).logits, smaller.predict(texts).logits, atol=1e-5)
    again = load(smaller.save(tmp_path / "cut"))
    assert np.array_equal(again.predict(texts).logits, smaller.predict(texts).logits)
    batch = again.tokenizer(list(SENTENCES), padding=True, return_tensors="pt").to(again.device)
    assert (batch["input_ids"][:, 0] == 2).all(), "who pads by the folder's own tokenizer pads behind the text"
    with torch.no_grad():
        assert np.allclose(again.model(**batch).logits.cpu(), again.predict(texts).logits, atol=1e-5)
