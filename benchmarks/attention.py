"""The five questions about attention in one pass, beside the pass itself and beside plain transformers and NumPy."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from benchmarks.attention_plain import Found, ask, resampled
from benchmarks.options import BATCH, Options, Sentences, sentences
from benchmarks.scale import random_bert
from benchmarks.side_by_side import Claim, Report, Variant, Work, compare, difference, now
from bertscope.analyses.attention.maps import LayerMaps, read_maps
from bertscope.analyses.attention.pass_part import SubsetReader
from bertscope.analyses.change.measure import ChangeReader
from bertscope.analyses.features.measure import FeatureReader
from bertscope.analyses.patterns.measure import PatternsReader
from bertscope.analyses.patterns.question import PatternsConfig
from bertscope.analyses.redundancy.measure import RedundancyReader
from bertscope.analyses.relations.measure import RelationReader
from bertscope.analyses.relations.pairs import Pairs, collect_pairs
from bertscope.analyses.shapes import CLASSES, LABELS, Labels
from bertscope.analyses.shapes.decomposition import Parts
from bertscope.analyses.shapes.net import shipped
from bertscope.core.examples import ROOT, Examples
from bertscope.data.features import feature_words, plain_words
from bertscope.models.batches import pieces_of_words
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from bertscope.models.observe import observe_layers

PLAIN = "output_attentions, padded to 128, NumPy map by map (*)"
MADE = "what the questions make ready before the pass"
EVERY = 25  # sentence of which the plain variant reads one
PASS, QUESTIONS = "the pass alone, with attention", "five questions, classification excluded"
STUDY = "the same as dark-secrets asks them"
CLASSIFIED = "five questions, with the default classifier"
FEATURES = ("noun", "verb", "adjective", "pronoun", "subject")
_KINDS = ("NOUN", "VERB", "ADJ", "PRON", "ADP")
_RELATIONS = ("nsubj", "obj", "amod", "case")


def run(options: Options) -> list[Report]:
    """Of pocket; on a GPU also of a BERT of the usual size, beside its pass alone."""
    data = sentences(options, "dev.tsv", options.size(800, 6))
    pocket = load("pocket", device=options.device)
    if options.device == "cpu":
        return [_report("pocket", pocket, data, options, most=1.5, plain=True)]
    size = (2, 2, 32) if options.quick else (12, 12, 768)
    large = random_bert(*size, options.device)
    return [
        _report("pocket", pocket, data, options, most=2, plain=True),
        _report("a random " + " x ".join(map(str, size)) + " BERT", large, data, options, most=1.5, plain=False),
    ]


def _report(name: str, before: Encoder, data: Sentences, options: Options, *, most: float, plain: bool) -> Report:
    """The questions cost at most so many times the pass; `plain`: also beside transformers and NumPy."""
    encoders = [before, tuned(before)]
    some = annotated(data.examples.take(range(min(BATCH, len(data)))))
    agreement = difference([_means_of_plain(plainly(encoders, some)), _means_of_readers(encoders, some)])
    works: dict[str, Callable[[Examples], Callable[[], object]]] = {
        PASS: lambda examples: lambda: _pass(encoders, examples),
        MADE: lambda examples: lambda: readers(encoders, examples, classified=False, both=True),
        QUESTIONS: lambda examples: made_ready(encoders, examples, classified=False),
        STUDY: lambda examples: made_ready(encoders, examples, classified=False, both=False),
        CLASSIFIED: lambda examples: made_ready(encoders, examples, classified=True),
    }
    variants = [Variant(variant, _untold(work)) for variant, work in works.items()]
    claims = [Claim(STUDY, PASS, 1 / most), Claim(QUESTIONS, PASS, 1 / most), Claim(CLASSIFIED, PASS, 1 / 2.5)]
    if plain:
        variants.insert(0, Variant(PLAIN, lambda examples: _some_plainly(encoders, annotated(examples), options)))
        claims.append(Claim(CLASSIFIED, PLAIN, 8))
    return compare(
        f"attention of two checkpoints, {name} and a copy that differs; plain transformers {BATCH} at a time",
        variants, data, options, repeats=3, passes=len(encoders), agreement=agreement, claims=claims,
        notes=[
            "(every head's means on the first sentences, all but classes, hits and outputs)",
            "maps are divided into parts in all; what is excluded is the classifiers and the numbers they are told",
            "patterns, change, features, relations and redundancy together; tables and figures are not timed",
            "all are asked of both checkpoints; dark-secrets asks relations of the first, redundancy of the second",
            "parts of speech and trees are made up: what they say costs nothing",
            "which words are marked, paired and their controls is found before the pass, and is a line of its own",
            *([f"(*) of every {EVERY}th sentence, its seconds times as many as there are"] if plain else []),
        ],
    )  # fmt: skip


def _untold(work: Callable[[Examples], Callable[[], object]]) -> Callable[[Examples], Work]:
    """The work on annotated examples; what it finds was compared before, and isn't again."""

    def prepare(examples: Examples) -> Work:
        ready = work(annotated(examples))

        def timed() -> None:
            ready()

        return timed

    return prepare


def _some_plainly(encoders: Sequence[Encoder], examples: Examples, options: Options) -> Work:
    """The plain variant on some of the examples, of all lengths; its seconds as if on all."""
    some = examples.take(range(0, len(examples), EVERY))

    def timed() -> float:
        started = now(options.device)
        plainly(encoders, some)
        return (now(options.device) - started) * len(examples) / len(some)

    return timed


def annotated(examples: Examples) -> Examples:
    """The sentences with made-up annotation of the usual density: SST-2 has its words between spaces."""
    random = np.random.default_rng(0)
    words = tuple(tuple(text.split()) for text in examples.text)
    pos, relation = (
        tuple(tuple(random.choice(names, len(row)).tolist()) for row in words) for names in (_KINDS, _RELATIONS)
    )
    heads = tuple((ROOT, *(int(random.integers(place)) for place in range(1, len(row)))) for row in words)
    return replace(examples, words=words, marks={"pos": pos, "relation": relation}, governors=heads)


def read(encoders: Sequence[Encoder], examples: Examples, *, classified: bool, both: bool = True) -> list[Any]:
    """What each question brings to the pass, with its defaults, after the pass; `both`: see `readers`."""
    return made_ready(encoders, examples, classified=classified, both=both)()


def made_ready(
    encoders: Sequence[Encoder], examples: Examples, *, classified: bool, both: bool = True
) -> Callable[[], list[Any]]:
    """The pass in which `read` reads, all that it needs made ready."""
    brought = readers(encoders, examples, classified=classified, both=both)
    shown = [(0, 1)] * len(brought) if both else [(0, 1), (0, 1), (0, 1), (0,), (1,)]

    def passed() -> list[Any]:
        read_maps(encoders, examples, [SubsetReader(*one) for one in zip(brought, shown, strict=True)])
        for reader in brought:
            reader.resampling.settle()
        return brought

    return passed


def readers(encoders: Sequence[Encoder], examples: Examples, *, classified: bool, both: bool) -> list[Any]:
    """The questions' readers; without `both` redundancy is asked of the second checkpoint only."""
    marked = {name: feature_words(examples, name) for name in FEATURES}
    counts = [encoder.head_counts for encoder in encoders]
    named = dict(zip(("before", "after"), encoders, strict=True))
    return [
        PatternsReader(named, examples, PatternsConfig(), classify=None if classified else _unclassified),
        ChangeReader(examples.ids, counts[0]),
        FeatureReader(marked, examples.ids, plain=plain_words(examples)),
        RelationReader(_pairs(encoders, examples), examples.ids),
        RedundancyReader(examples.ids, counts if both else counts[1:]),
    ]


def plainly(encoders: Sequence[Encoder], examples: Examples) -> list[Found]:
    """The same with transformers and NumPy."""
    assert examples.words is not None
    plain = np.split(plain_words(examples), np.cumsum([len(words) for words in examples.words])[:-1])
    nets = shipped()

    @torch.inference_mode()
    def classify(numbers: np.ndarray) -> np.ndarray:
        told = torch.from_numpy(numbers).float()
        return np.concatenate([np.eye(len(CLASSES))[nets[labels](told).argmax(-1)] for labels in LABELS], 1)

    marked = [*(feature_words(examples, name) for name in FEATURES), plain]
    found = ask(encoders, examples, marked, _pairs(encoders, examples), classify)
    for one in found:
        resampled(one, encoders[0].n_layers)
    return found


def _means_of_plain(found: list[Found]) -> np.ndarray:
    """The shares of parts, attention to special tokens, entropy and distance; attention to features, between them and
    to each special token; pairs and their controls; heads apart; cosine and divergence: all end to end."""
    parts = []
    for one in found:
        parts += [one["shape"].mean(0), np.nanmean(one["features"], 0), np.nanmean(one["pairs"], 0)]
        in_pairs, in_controls = np.moveaxis(one["relations"].sum(0), -1, 0)[1:]
        parts += [one["special"].mean(0), in_controls, in_pairs - in_controls, one["divergence"].mean(0)]
    parts.append(found[1]["change"].mean(0))
    return np.concatenate([part.ravel() for part in parts])


def _means_of_readers(encoders: Sequence[Encoder], examples: Examples) -> np.ndarray:
    """The same of what the questions' readers kept."""
    shapes, moved, features, relations, redundancy = read(encoders, examples, classified=False)
    of_compared = relations.pairs.relation[relations.pairs.with_control]
    relation = np.arange(len(relations.pairs.names))[:, None] == of_compared
    parts = []
    for which in range(len(encoders)):
        layers, sums = features.of(which).values(), relations.sums_of[which]
        attention, special, pairs = (
            np.moveaxis(np.concatenate([getattr(layer, name) for layer in layers], -1), -1, 0)
            for name in ("attention", "special", "pairs_of_heads")
        )
        apart = np.tensordot(relation.astype(float), sums.differences(np.arange(len(of_compared))), 1)
        parts += [shapes.means[which].value[:, len(LABELS) * len(CLASSES) :], attention[:, 0], pairs, special[:, 0]]
        parts += [np.moveaxis(both, -1, 0) for both in (sums.control.value, apart)]
        parts.append(redundancy.maps[which].divergence)
    parts.append(moved.heads.value)
    return np.concatenate([part.ravel() for part in parts])


def _pairs(encoders: Sequence[Encoder], examples: Examples) -> Pairs:
    """Words in a relation, and their controls: which those are depends on the words' pieces."""
    pieces = pieces_of_words(encoders[0].tokenizer, examples, min(one.max_length for one in encoders))
    return collect_pairs(examples, pieces)


def _pass(encoders: Sequence[Encoder], examples: Examples) -> None:
    class Nobody:
        needs = frozenset({"maps"})

        def update(self, batch: Any, layer: int, seen: Any) -> None:
            pass

    observe_layers(encoders, examples, Nobody())


def tuned(encoder: Encoder) -> Encoder:
    """A copy whose weights differ a little, as a fine-tuned model's do."""
    other = copy.deepcopy(encoder)
    torch.manual_seed(0)
    with torch.no_grad():
        for weight in other.model.parameters():
            weight.mul_(1 + 0.02 * torch.randn(weight.shape).to(weight.device))  # the same wherever it is
    return other


def _unclassified(maps: LayerMaps, parts: Parts) -> dict[Labels, torch.Tensor]:
    return dict.fromkeys(LABELS, maps.maps.new_zeros(*maps.maps.shape[:2], len(CLASSES)))
