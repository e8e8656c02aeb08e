"""Absolute times at the size of bert-base, random weights, on a GPU: the scan of all heads, and fine-tuning."""

from __future__ import annotations

import torch
from transformers import BertConfig, BertForSequenceClassification

from benchmarks.ablation import spread
from benchmarks.options import BATCH, Options, Sentences, sentences
from benchmarks.side_by_side import Report, Skipped, Variant, compare
from benchmarks.training import with_bertscope
from bertscope.models.encoder import Encoder
from bertscope.models.judge import predict_without
from bertscope.models.load import load


def run(options: Options) -> list[Report]:
    if options.device == "cpu" and not options.quick:
        raise Skipped("absolute times of a 12 x 12 x 768 model are for a GPU: --device cuda, or --quick")
    layers, heads, width = (2, 2, 32) if options.quick else (12, 12, 768)
    shape = f"a random {layers} x {heads} x {width} BERT"
    encoder = random_bert(layers, heads, width, options.device)
    data = sentences(options, "test-labeled.tsv", options.size(2000, 64))
    few = data.examples.take(range(min(options.size(1000, 16), len(data))))
    parts = [[head] for head in spread(layers, heads, heads)]
    scan = Variant(
        f"bertscope, {len(parts)} heads", lambda examples: lambda: predict_without(encoder, examples, parts).logits
    )
    tune = Variant("bertscope, fine-tuning", lambda examples: with_bertscope(encoder, examples))
    precision = "bfloat16 autocast" if options.device != "cpu" else "float32"
    return [
        compare(
            f"the scan of all {len(parts)} heads of {shape}, float32, TF32 off",
            [scan], Sentences(few, f"the first {len(few):,} of {data.source}"), options, repeats=3, passes=len(parts),
        ),
        compare(
            f"fine-tuning {shape}, one epoch, {BATCH} examples a step, {precision}",
            [tune], data, options, repeats=3,
        ),
    ]  # fmt: skip


def random_bert(layers: int, heads: int, width: int, device: str) -> Encoder:
    tokenizer = load("pocket", device="cpu").tokenizer
    config = BertConfig(
        vocab_size=len(tokenizer), num_hidden_layers=layers, num_attention_heads=heads, hidden_size=width,
        intermediate_size=4 * width, max_position_embeddings=512, num_labels=2,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = BertForSequenceClassification(config).eval()
    return load(model, tokenizer=tokenizer, device=device)
