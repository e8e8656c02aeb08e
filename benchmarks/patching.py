"""Patching: what each head brings from the clean text into the corrupted one, exactly and by its gradient."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.ablation import spread
from benchmarks.options import BATCH, Options, Sentences, sentences
from benchmarks.plain import batches
from benchmarks.side_by_side import Claim, Report, Variant, Work, compare, difference, now
from bertscope.core.examples import Examples
from bertscope.core.units import Unit
from bertscope.models.contrasts import contrasts
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from bertscope.models.new_task_head import with_classifier
from bertscope.models.outputs.kinds import own_output
from bertscope.models.patching import Patch, patched

LOOP, OURS = "hooks and rerun, dynamic padding", "bertscope (replay)"
ONE, BOTH = "a forward pass over one text of each pair", "a forward pass over both"
GRADIENT, INTEGRATED = "bertscope, all activations by their gradients", "the same with 5 points between the texts"
NEW_WORD = "water"


def run(options: Options) -> list[Report]:
    encoder = scorer(options.device)
    data = pairs_of(sentences(options, "dev.tsv", options.size(872, 12)), encoder.tokenizer, options)
    return [_exactly(options, encoder, data), _by_gradients(options, encoder, data)]


@cache
def scorer(device: str) -> Encoder:
    """pocket with a fresh score on top: any two texts have different ones, so that every pair counts."""
    return with_classifier(load("pocket", device=device), ())


def pairs_of(found: Sentences, tokenizer: Any, options: Options) -> Sentences:
    """The first 200 sentences in which a word can be exchanged; the same with another word are their second texts."""
    other = [exchanged(text, tokenizer) for text in found.examples.text]
    kept = [row for row, text in enumerate(other) if text is not None][: options.rows or options.size(200, 4)]
    examples = replace(found.examples.take(kept), pair=tuple(str(other[row]) for row in kept))
    return Sentences(examples, f"{found.source.split(',')[0]}, {len(kept)} sentences with one word exchanged in each")


def exchanged(text: str, tokenizer: Any) -> str | None:
    """The text with another word in the place of the one that is nearest to its middle and one piece long."""
    words = text.split()
    for place in sorted(range(len(words)), key=lambda at: abs(at - len(words) / 2)):
        if words[place].isalpha() and words[place] != NEW_WORD and len(tokenizer.tokenize(words[place])) == 1:
            return " ".join([*words[:place], NEW_WORD, *words[place + 1 :]])
    return None


def _sides(examples: Examples) -> tuple[Examples, Examples]:
    assert examples.pair is not None
    return replace(examples, pair=None), replace(examples, text=examples.pair, pair=None)


def _exactly(options: Options, encoder: Encoder, data: Sentences) -> Report:
    model = copy.deepcopy(encoder.model).eval()
    every = spread(encoder.n_layers, encoder.n_heads, options.size(encoder.n_heads, 1))
    rerun = spread(encoder.n_layers, encoder.n_heads, options.size(options.heads, 1))

    def in_turn(examples: Examples, heads: Sequence[Unit]) -> np.ndarray:
        found = contrasts(own_output(encoder, pairs=False), *_sides(examples))
        return patched(found, [Patch(head) for head in heads])

    def ours(examples: Examples) -> Work:
        def scan() -> None:  # the loop doesn't run all of them: what both give is compared before
            in_turn(examples, every)

        return scan

    def loop(examples: Examples) -> Work:
        def seconds() -> float:
            started = now(options.device)
            sides = [batches(encoder.tokenizer, side.text, "longest", options.device) for side in _sides(examples)]
            tokenised = now(options.device)
            *_, once = plainly(model, sides, rerun)
            rest = now(options.device) - tokenised - once
            return tokenised - started + once + rest * len(every) / len(rerun)

        return seconds

    some = data.examples.take(range(min(2 * BATCH, len(data))))
    sides = [batches(encoder.tokenizer, side.text, "longest", options.device) for side in _sides(some)]
    both = np.stack([plainly(model, sides, rerun)[0], in_turn(some, rerun)]) / _usual(encoder, some)
    report = compare(
        f"patching {len(every)} heads, pocket; transformers in file order, {BATCH} pairs at a time",
        [Variant(LOOP, loop), Variant(OURS, ours)], data,
        options, repeats=2, passes=len(every), claims=[Claim(OURS, LOOP, 3)],
        agreement=difference(both),
        notes=["compared are shares of how far apart the two texts' scores are"],
    )  # fmt: skip
    if len(rerun) < len(every):
        report.notes.append(
            f"running again costs the same for every head: {len(rerun)} heads, spread over the layers, were run, and "
            f"their seconds taken {len(every) / len(rerun):g} times; bertscope patched all {len(every)}"
        )
    return report


@torch.inference_mode()
def plainly(model: Any, sides: Sequence[Sequence[Any]], heads: Sequence[Unit]) -> tuple[np.ndarray, float]:
    """[head, pair]: the score of each corrupted text with one head's output from the clean text's run, with the sign
    that makes the clean text's score the higher; and the seconds of what is done once, whatever heads there are."""
    found, once = [], 0.0
    for clean, corrupted in zip(*sides, strict=True):
        started = now(str(model.device))
        with _read(model) as contexts:
            sign = model(**clean).logits[:, 0]
        sign = (sign - model(**corrupted).logits[:, 0]).sign()
        once += now(str(model.device)) - started
        scores = []
        for head in heads:
            with _patched(model, head, contexts[head.layer_index]):
                scores.append(sign * model(**corrupted).logits[:, 0])
        found.append(torch.stack(scores))
    return torch.cat(found, 1).cpu().numpy(), once


def _projection(model: Any, layer: int) -> Any:
    return model.base_model.encoder.layer[layer].attention.output.dense


@contextmanager
def _read(model: Any) -> Iterator[list[Tensor]]:
    """What each layer's output projection reads: its heads' outputs."""
    contexts: list[Tensor] = []
    with ExitStack() as undo:
        for layer in range(model.config.num_hidden_layers):
            hook = _projection(model, layer).register_forward_pre_hook(lambda module, args: contexts.append(args[0]))
            undo.callback(hook.remove)
        yield contexts


@contextmanager
def _patched(model: Any, head: Unit, context: Tensor) -> Iterator[None]:
    width = model.config.hidden_size // model.config.num_attention_heads
    at = slice(head.index * width, (head.index + 1) * width)

    def put(module: Any, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        own = args[0].clone()
        own[..., at] = context[..., at]
        return (own,)

    hook = _projection(model, head.layer_index).register_forward_pre_hook(put)
    try:
        yield
    finally:
        hook.remove()


def _usual(encoder: Encoder, examples: Examples) -> float:
    """How far apart the scores of two texts are, on the mean: a fresh score hardly tells any texts apart."""
    return float(contrasts(own_output(encoder, pairs=False), *_sides(examples)).between.mean())


def _by_gradients(options: Options, encoder: Encoder, data: Sentences) -> Report:
    model, usual = copy.deepcopy(encoder.model).eval(), _usual(encoder, data.examples)

    def forward(examples: Examples, *, both: bool) -> np.ndarray | None:
        sides = _sides(examples) if both else _sides(examples)[1:]
        scores = []
        with torch.inference_mode():
            for side in sides:
                inputs = batches(encoder.tokenizer, side.text, "longest", options.device)
                scores.append(torch.cat([model(**batch).logits[:, 0] for batch in inputs]).cpu().numpy())
        return np.abs(scores[0] - scores[1]) / usual if both else None

    def attributed(examples: Examples, nodes: int) -> np.ndarray:
        found = contrasts(own_output(encoder, pairs=False), *_sides(examples), gradients=True, nodes=nodes)
        return found.between / usual

    return compare(
        "attribution patching of every head, MLP and layer at every role, both ways, pocket; tokenising included",
        [
            Variant(ONE, lambda examples: lambda: forward(examples, both=False)),
            Variant(BOTH, lambda examples: lambda: forward(examples, both=True)),
            Variant(GRADIENT, lambda examples: lambda: attributed(examples, 0)),
            Variant(INTEGRATED, lambda examples: lambda: attributed(examples, 5)),
        ],
        data, options, repeats=5, claims=[Claim(GRADIENT, ONE, 1 / 6)],
        notes=["compared is how far apart the two texts' scores are, as a share of its mean"],
    )  # fmt: skip
