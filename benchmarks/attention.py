"""The five questions about attention in one pass, beside the pass itself and beside plain transformers and NumPy."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from benchmarks.options import BATCH, Options, sentences
from benchmarks.plain import LONGEST
from benchmarks.side_by_side import Claim, Report, Variant, Work, compare, difference
from bertscope.analyses.attention import LayerMaps, read_maps
from bertscope.analyses.change_reader import ChangeReader
from bertscope.analyses.features_reader import FeatureReader
from bertscope.analyses.patterns import PatternsConfig
from bertscope.analyses.patterns_reader import PatternsReader
from bertscope.analyses.redundancy_reader import RedundancyReader
from bertscope.analyses.relation_pairs import collect_pairs
from bertscope.analyses.relations_reader import RelationReader
from bertscope.analyses.shapes import CLASSES
from bertscope.core.examples import ROOT, Examples
from bertscope.data.features import feature_words
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from bertscope.models.observe import observe_layers

PLAIN = "output_attentions, padded to 128, NumPy map by map"
PASS, QUESTIONS = "the pass alone, with attention", "five questions, classification excluded"
CLASSIFIED = "five questions, with the default classifier"
FEATURES = ("noun", "verb", "adjective", "pronoun", "subject")
_KINDS = ("NOUN", "VERB", "ADJ", "PRON", "ADP")
_RELATIONS = ("nsubj", "obj", "amod", "case")


def run(options: Options) -> Report:
    data = sentences(options, "dev.tsv", options.size(800, 12))
    before = load("pocket", device=options.device)
    encoders = [before, _tuned(before)]

    def asking(*, classified: bool) -> Callable[[Examples], Work]:
        def prepare(examples: Examples) -> Work:
            marked = annotated(examples)

            def work() -> None:
                made = readers(encoders, marked, classified=classified)
                read_maps(encoders, marked, made)
                for reader in made:
                    reader.resampling.settle()

            return work

        return prepare

    some = annotated(data.examples.take(range(min(BATCH, len(data)))))
    agreement = difference([plainly(encoders, some, options), _found(encoders, some)])
    variants = [
        Variant(PLAIN, lambda examples: lambda: _done(plainly(encoders, annotated(examples), options))),
        Variant(PASS, lambda examples: lambda: _pass(encoders, annotated(examples))),
        Variant(QUESTIONS, asking(classified=False)),
        Variant(CLASSIFIED, asking(classified=True)),
    ]
    return compare(
        f"attention of two checkpoints, pocket and a copy that differs; plain transformers {BATCH} at a time",
        variants, data, options, repeats=3, passes=len(encoders), agreement=agreement,
        claims=[Claim(QUESTIONS, PASS, 1 / 1.5), Claim(CLASSIFIED, PASS, 1 / 2.5), Claim(CLASSIFIED, PLAIN, 8)],
        notes=[
            "(the mean entropy before and the mean cosine of every head, on the first sentences)",
            "patterns, change, features, relations and redundancy together; tables and figures are not timed",
            "parts of speech and trees are made up: what they say costs nothing",
            "NumPy measures the same, but no resamples, no control pairs and no similarity of outputs",
        ],
    )  # fmt: skip


def annotated(examples: Examples) -> Examples:
    """The sentences with made-up annotation of the usual density: SST-2 has its words between spaces."""
    random = np.random.default_rng(0)
    words = tuple(tuple(text.split()) for text in examples.text)
    pos = tuple(tuple(random.choice(_KINDS, len(row))) for row in words)
    relation = tuple(tuple(random.choice(_RELATIONS, len(row))) for row in words)
    heads = tuple((ROOT, *(int(random.integers(place)) for place in range(1, len(row)))) for row in words)
    return replace(examples, words=words, marks={"pos": pos, "relation": relation}, heads=heads)


def readers(encoders: Sequence[Encoder], examples: Examples, *, classified: bool) -> list[Any]:
    """What each question brings to the pass, with its defaults."""
    marked = {name: feature_words(examples, name) for name in FEATURES}
    pairs = collect_pairs(examples, subtypes=False, core=True, select_share=0.5, seed=0)
    counts = [encoder.head_counts for encoder in encoders]
    shapes = PatternsReader(dict(zip(("before", "after"), encoders, strict=True)), examples, PatternsConfig())
    if not classified:
        shapes._classifier = _unclassified
    return [
        shapes,
        ChangeReader(examples.ids, counts[0]),
        FeatureReader(marked, examples.ids),
        RelationReader(pairs, examples.ids),
        RedundancyReader(examples.ids, counts),
    ]


def plainly(encoders: Sequence[Encoder], examples: Examples, options: Options) -> np.ndarray:
    """The same quantities as one would write them: all maps of a batch, then one map at a time.

    Returns [layer, head, 2]: the mean entropy before, and the mean cosine.
    """
    assert examples.words is not None and examples.heads is not None
    tokenizer, random = encoders[0].tokenizer, np.random.default_rng(0)
    marked = [feature_words(examples, name) for name in FEATURES]
    found = np.zeros((encoders[0].n_layers, encoders[0].n_heads, 2))
    for start in range(0, len(examples), BATCH):
        words = [list(row) for row in examples.words[start : start + BATCH]]
        batch = tokenizer(
            words, is_split_into_words=True, padding="max_length", truncation=True, max_length=LONGEST,
            return_tensors="pt",
        )  # fmt: skip
        maps = [_eager(encoder, batch.to(options.device)) for encoder in encoders]
        for place, n in enumerate(batch["attention_mask"].sum(1).tolist()):
            row = start + place
            text = _Text(
                batch.word_ids(place)[:n], [one[row] for one in marked], np.array(examples.heads[row]),
            )  # fmt: skip
            query = int(random.integers(n))
            for one in maps:
                _apart(np.concatenate([layer[place, :, query, :n] for layer in one]))
            for layer, both in enumerate(zip(*maps, strict=True)):
                for head in range(encoders[0].n_heads):
                    found[layer, head] += _measure([one[place, head, :n, :n] for one in both], text)
    return found / len(examples)


def _found(encoders: Sequence[Encoder], examples: Examples) -> np.ndarray:
    """What the questions' readers say of the same."""
    shapes, moved, *_ = asked = readers(encoders, examples, classified=False)
    read_maps(encoders, examples, asked)
    found = np.stack([shapes._means[0].value[:, len(CLASSES)], moved._heads.value[:, 0]], -1)
    return found.reshape(encoders[0].n_layers, encoders[0].n_heads, 2)


def _done(_: np.ndarray) -> None:
    """What was compared before isn't compared again."""


class _Text:
    """What of a text serves all its maps."""

    def __init__(self, word_ids: Sequence[int | None], features: Sequence[np.ndarray], heads: np.ndarray) -> None:
        shown = [word for word in dict.fromkeys(word_ids) if word is not None]
        self.to = np.array([[word == other for other in shown] for word in word_ids], dtype=np.float32)
        self.share = (self.to / self.to.sum(0)).T
        self.features = np.stack([one[shown] for one in features]).astype(np.float32)
        self.apart = np.abs(np.arange(len(word_ids))[:, None] - np.arange(len(word_ids)))
        self.heads = heads[shown]


def _measure(maps: Sequence[np.ndarray], text: _Text) -> tuple[float, float]:
    """A head's map before and after: shape, change, kinds of words, relations. Returns entropy before, and cosine."""
    entropies = []
    for a in maps:
        n = len(a)
        entropies.append(-(a * np.log2(np.maximum(a, 1e-30))).sum(-1).mean())
        received = a.mean(0)
        _ = [np.trace(a, offset) for offset in range(-2, 3)], (a * text.apart).sum() / n, (a * a).sum()
        _ = received[0] + received[-1], np.sort(received)[-3:].sum()
        for on_words in (received @ text.to, a[0] @ text.to):
            _ = (on_words * text.features).max(-1), np.sort(on_words)
        between = text.share @ a @ text.to
        _ = text.features @ between @ text.features.T
        np.fill_diagonal(between, -1)
        best, places = between.argmax(-1), np.arange(len(between))
        _ = best == text.heads, best[text.heads] == places, between[places, text.heads], between[text.heads, places]
    one, other = maps
    cosine = (one * other).sum() / np.sqrt((one * one).sum() * (other * other).sum())
    both = (one + other) / 2
    _ = -(both * np.log2(np.maximum(both, 1e-30))).sum(-1).mean() - sum(entropies) / 2
    return entropies[0], cosine


def _apart(rows: np.ndarray) -> None:
    """The divergence between all heads [head, key] on one query, head by head."""
    for one in rows:
        both = np.maximum((rows + one) / 2, 1e-30)
        _ = (both * np.log2(both)).sum(-1)


@torch.inference_mode()
def _eager(encoder: Encoder, batch: Any) -> list[np.ndarray]:
    encoder.model.set_attn_implementation("eager")
    output = encoder.model(**batch, output_attentions=True)
    encoder.model.set_attn_implementation("sdpa")
    return [layer.cpu().numpy() for layer in output.attentions]


def _pass(encoders: Sequence[Encoder], examples: Examples) -> None:
    class Nobody:
        needs = frozenset({"maps"})

        def update(self, batch: Any, layer: int, seen: Any) -> None:
            pass

    observe_layers(encoders, examples, Nobody())


def _tuned(encoder: Encoder) -> Encoder:
    """A copy whose weights differ a little, as a fine-tuned model's do."""
    other = copy.deepcopy(encoder)
    torch.manual_seed(0)
    with torch.no_grad():
        for weight in other.model.parameters():
            weight.mul_(1 + 0.02 * torch.randn_like(weight))
    return other


def _unclassified(maps: LayerMaps) -> torch.Tensor:
    return maps.maps.new_zeros(*maps.maps.shape[:2], len(CLASSES))
