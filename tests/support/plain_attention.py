"""Attention as transformers itself gives it, one text at a time."""

from __future__ import annotations

import numpy as np
import torch

from three_sentences import WORDS


def plain_maps_of_words(pocket, row):
    """Of one of the three sentences: [layer, head, query, key], and the word of each token."""
    words = [" " + word for word in WORDS[row]]
    coded = pocket.tokenizer([words], is_split_into_words=True, return_tensors="pt").to(pocket.device)
    return _maps(pocket, coded).cpu().numpy(), coded.word_ids()


def plain_maps(encoder, text, pair=None):
    """Of a text, or of two: [layer, head, query, key]."""
    coded = encoder.tokenizer(text, pair, return_tensors="pt").to(encoder.device)
    return _maps(encoder, coded).double().cpu().numpy()


def _maps(encoder, coded):
    before = encoder.model.config._attn_implementation
    encoder.model.set_attn_implementation("eager")
    with torch.inference_mode():
        output = encoder.model(**coded, output_attentions=True)
    encoder.model.set_attn_implementation(before)
    return torch.stack([maps[0] for maps in output.attentions])


def bits(p):
    """The entropy."""
    return -sum(x * np.log2(x) for x in p if x > 0)
