"""Pre-training a model of pocket's shape: whole steps beside their matrix products alone, which are the ceiling."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from benchmarks.options import Options, sentences
from benchmarks.side_by_side import Report, now
from benchmarks.training import Silent
from bertscope.models.load import load
from bertscope.training.budget import POINTS, Budget, Spent
from bertscope.training.history import History
from bertscope.training.loop import Training
from bertscope.training.masked_objective import MaskedWords
from bertscope.training.mixed_rows import MixedRows
from bertscope.training.packed_text import Counts, PackedText
from bertscope.training.precision import has_half
from bertscope.training.pretrain.beginning import Drawn
from bertscope.training.pretrain.question import PretrainConfig
from bertscope.training.randomness import own_randomness
from bertscope.training.row_order import RowOrder

PRODUCTS, OURS, COMPILED = "the matrix products alone", "bertscope", "bertscope, compiled"
_RATE = 1e-4


def run(options: Options) -> Report:
    config = _config(options)
    text, source = _text(options, config)
    on_gpu = options.device == "cuda"
    works = {PRODUCTS: _products(config, len(text.tokenizer), torch.device(options.device), _many(options))}
    works |= {OURS: _steps(config, text, options)}
    works |= {COMPILED: _steps(config, text, options, compiled=True)} if on_gpu else {}
    rounds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(options.rounds(3)):
        for name, work in works.items():
            started = now(options.device)
            work()
            rounds[name].append(now(options.device) - started)
    tokens = _many(options) * (config.batch_tokens or 0)
    shape = f"{config.layers} x {config.heads} x {config.units}, {len(text.tokenizer):,} pieces"
    report = Report(
        f"pre-training {shape}, rows of {config.length}, {config.batch_tokens:,} tokens a step",
        source,
        tokens,
        rounds,
    )
    told = (f"{name} {report.rate(name) / 1e6:.3g} million" for name in works)
    report.notes = [
        f"tokens a second: {', '.join(told)} (an example is a token)",
        f"{report.ratio(COMPILED if on_gpu else OURS):.0%} of the ceiling: attention there is torch's own, maps and "
        "masks, norms, activations and the optimiser aren't in it",
    ]
    return report


def _many(options: Options) -> int:
    """Steps that are timed at once."""
    return options.size(50 if options.device == "cuda" else 4, 1)


def _config(options: Options) -> PretrainConfig:
    layers, heads, units = (2, 2, 32) if options.quick else (12, 12, 192)
    tokens = options.size(131_072 if options.device == "cuda" else 4096, 512)
    return PretrainConfig(
        layers=layers, heads=heads, units=units, positions=128, short_share=0.0, next_sentence=True, dropout=0.0,
        mask_rate=0.2, batch_tokens=tokens, steps=POINTS * _many(options), learning_rate=_RATE, warmup=0.0,
    )  # fmt: skip


def _text(options: Options, config: PretrainConfig) -> tuple[PackedText, str]:
    """Sentences again and again, until there is enough for some steps."""
    found = sentences(options, "train.tsv", options.size(2000, 64))
    tokenizer = load("pocket").tokenizer
    pieces = np.concatenate(tokenizer(list(found.examples.text), add_special_tokens=False)["input_ids"])
    train = np.resize(pieces, 4 * (config.batch_tokens or 0) + 4 * config.length).astype(np.uint16)
    counts = Counts(1, 0, len(train), 1, len(train))
    return PackedText(tokenizer, train, train[: 8 * config.length], counts, ""), found.source


def _steps(
    config: PretrainConfig, text: PackedText, options: Options, *, compiled: bool = False
) -> Callable[[], None]:
    assert config.batch_tokens
    encoder = Drawn().encoder(config.settled(len(text.train)), text, "benchmark")
    encoder.model.to(options.device)
    objective = MaskedWords(
        encoder, text, batch_tokens=config.batch_tokens, rate=config.mask_rate, whole_words=True, next_sentence=True,
        dropout=0.0, half=False, compiled=compiled, length=config.length, seed=0, fingerprint="",
    )  # fmt: skip
    order = RowOrder(len(text.train), config.length, 3, config.batch_tokens // config.length, 0)
    course = Budget(Spent(config.steps), MixedRows([order], [1.0]), highest=_RATE, warmup=0.0, kept=[])
    training = Training(encoder, objective, config.training(), None, course=course, halves=True)
    training.history.epochs.append({"epoch": 0, **course.facts(History(chance=0.0))})

    def work() -> None:
        """The first stretch of the budget again."""
        with own_randomness(encoder.device):
            training.epoch(1, Silent())

    work()  # compiles and records
    return work


def _products(config: PretrainConfig, vocabulary: int, device: torch.device, many: int) -> Callable[[], None]:
    """What so many steps multiply, forward and backward, on tensors that are there already."""
    assert config.batch_tokens and config.heads
    kind = torch.bfloat16 if has_half(device) else torch.float32
    tokens, units, length = config.batch_tokens, config.units, config.length
    guessed = round(config.mask_rate * length) * tokens // length
    inside = [(tokens, units, units)] * 4 + [(tokens, units, 4 * units), (tokens, 4 * units, units)]
    shapes = inside * config.layers + [(guessed, units, units), (guessed, units, vocabulary)]
    made = {shape: _pair(*shape, device=device, kind=kind) for shape in set(shapes)}
    attended = [
        torch.randn(
            tokens // length, config.heads, length, units // config.heads, device=device, dtype=kind,
            requires_grad=True,
        )
        for _ in range(3)
    ]  # fmt: skip

    def work() -> None:
        for shape in shapes * many:
            given, weights, gradient = made[shape]
            torch.mm(given, weights)
            torch.mm(gradient, weights.T)
            torch.mm(given.T, gradient)
        for _ in range(config.layers * many):
            found = scaled_dot_product_attention(*attended)
            torch.autograd.grad(found, attended, torch.ones_like(found))

    work()
    return work


def _pair(rows: int, into: int, out: int, *, device: torch.device, kind: torch.dtype) -> tuple[Tensor, ...]:
    sizes = ((rows, into), (into, out), (rows, out))
    return tuple(torch.randn(size, device=device, dtype=kind) for size in sizes)
