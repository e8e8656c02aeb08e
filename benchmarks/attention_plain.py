"""The five questions about attention as one would write them with transformers and NumPy: one map at a time.

All that bertscope's readers measure is measured here: the numbers that tell a map's shape, and its class; what
fine-tuning changed; attention to kinds of words, beside what random words would get; pairs of words in a relation,
beside their controls; all heads against each other on one query; the heads' outputs for some tokens. What each text
gave is kept, and resampled in one product at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy.special import comb

from benchmarks.options import BATCH
from benchmarks.plain import LONGEST
from bertscope.analyses.relations.pairs import NONE, Pairs
from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed, mixed
from bertscope.models.encoder import Encoder

TOKENS, REPEATS = 2000, 1000
Found = dict[str, np.ndarray]
Classify = Callable[[np.ndarray], np.ndarray]
"""From maps' twenty numbers [map, 20] to [map, class], 1 for the class of the map."""


@dataclass
class Text:
    """What of a text serves all its maps."""

    word_ids: Sequence[int | None]
    kinds: np.ndarray
    """[kind, word]: which words have which feature; the last kind is any word."""
    ends: np.ndarray
    """[pair, (source, target)]: words in a relation."""
    controls: np.ndarray
    """Two other words at the same distance, or `NONE`."""
    relations: np.ndarray
    """[relation, pair]: 1 for the pair's relation."""

    def __post_init__(self) -> None:
        n, (_, n_words) = len(self.word_ids), self.kinds.shape
        self.special = np.array([word is None for word in self.word_ids])
        self.to = np.array([[word == other for other in range(n_words)] for word in self.word_ids], np.float32)
        self.share = (self.to / np.maximum(self.to.sum(0), 1)).T
        self.apart = np.abs(np.arange(n)[:, None] - np.arange(n)).astype(np.float32)
        self.of_words = (~self.special / max(1, (~self.special).sum())).astype(np.float32)
        self.matched = (self.controls != NONE).all(1)
        self.free = np.where(self.matched[:, None], self.controls, self.ends)

    @cached_property
    def per_pair(self) -> np.ndarray:
        """[kind, kind]: one over the pairs of two different words; NaN where there are none."""
        sizes = self.kinds.sum(1)
        pairs = np.outer(sizes, sizes) - self.kinds @ self.kinds.T
        return 1 / np.where(pairs > 0, pairs, np.nan)

    @cached_property
    def random(self) -> np.ndarray:
        """[kind, place in rising order]: weights that give the expected maximum of as many random words.

        The j-th smallest of n is the maximum of k of them in C(j - 1, k - 1) of the C(n, k) draws.
        """
        total = int(self.kinds[-1].sum())
        drawn = np.append(self.kinds[:-1].sum(1), [1, 1])[:, None]
        return comb(np.arange(total), drawn - 1) / np.where(drawn > 0, comb(total, drawn), np.nan)


def ask(
    encoders: Sequence[Encoder],
    examples: Examples,
    marked: Sequence[Sequence[np.ndarray]],
    pairs: Pairs,
    classify: Classify,
) -> list[Found]:
    """For each encoder, what was measured: [text, head, ...] each."""
    kept: list[dict[str, list[np.ndarray]]] = [{} for _ in encoders]
    keys, random = hashed(examples.ids, 0), np.random.default_rng(0)
    for row, text, shown in _texts(encoders, examples, marked, pairs):
        n = len(text.word_ids)
        query = int(mixed(mixed(keys[row], np.uint64(2**32)), np.arange(n, dtype=np.uint64)).argmin())
        some = random.choice(n, max(1, TOKENS // len(examples)))
        for found, (maps, outputs) in zip(kept, shown, strict=True):
            of_maps = [of_map(one, text) for one in maps]
            of_text = {name: np.stack([one[name] for one in of_maps]) for name in of_maps[0]}
            of_text["class"] = classify(of_text["shape"])
            of_text["divergence"] = heads_apart(np.stack([one[query] for one in maps]))
            of_text["outputs"] = outputs[:, some]
            if found is not kept[0]:
                of_text["change"] = np.array([change(*both) for both in zip(shown[0][0], maps, strict=True)])
            for name, values in of_text.items():
                found.setdefault(name, []).append(values.astype(np.float32))
    return [{name: np.stack(values) for name, values in found.items()} for found in kept]


def resampled(found: Found, n_layers: int) -> Found:
    """Each quantity's mean over the texts that have it, in each resample."""
    pairs = found["pairs"].reshape(len(found["pairs"]), n_layers, -1, *found["pairs"].shape[2:]).mean(2)
    of_any = np.where(np.isnan(pairs), np.nan, pairs[..., -1:, -1:])
    n_heads = found["divergence"].shape[1] // n_layers
    apart = found["divergence"].reshape(-1, n_layers, n_heads, n_layers, n_heads).sum((2, 4))
    values = {name: found[name] for name in ("class", "shape", "change", "features", "special") if name in found}
    values |= {"shape": found["shape"][..., :3], "pairs": np.stack([pairs, of_any], 1), "divergence": apart}
    n = len(pairs)
    weights = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=REPEATS).astype(np.float32)
    means = {}
    for name, value in values.items():
        flat = value.reshape(n, -1)
        there = (~np.isnan(flat)).astype(np.float32)
        with np.errstate(invalid="ignore"):  # no text of the resample has it
            means[name] = (weights @ np.nan_to_num(flat)) / (weights @ there)
    return means


def of_map(a: np.ndarray, text: Text) -> Found:
    """What is measured of one map [query, key]."""
    received = a.mean(0)
    between = text.share @ a @ text.to
    np.fill_diagonal(between, 0)
    ends, others = text.ends, text.ends[:, ::-1]
    hits = between.argmax(-1)[ends] == others
    control = between[text.free, text.free[:, ::-1]] * text.matched[:, None]
    apart = between[ends, others] * text.matched[:, None] - control
    related = np.stack([hits, control, apart], -1)  # [pair, direction, 3]
    special = received[0], received[text.special][1:].sum(), received[text.special][1:].mean()
    return {
        "shape": shape(a, received, text),
        "features": np.stack([strongest(received, text), strongest(a[0], text)]),
        "special": np.array(special),
        "pairs": (text.kinds @ between @ text.kinds.T) * text.per_pair,
        "relations": (text.relations @ related.reshape(len(related), -1)).reshape(-1, *related.shape[1:]),
    }


def shape(a: np.ndarray, received: np.ndarray, text: Text) -> np.ndarray:
    """The entropy, distance and attention to special tokens; then the classifier's twenty numbers."""
    n, squares = len(a), (a * a).sum()
    bits, to_special = np.log2(n), received[text.special].sum()
    entropy = -(a * np.log2(np.maximum(a, 1e-30))).sum() / n
    distance = (a * text.apart).sum() / n
    diagonals = [np.trace(a, offset) / max(1, n - abs(offset)) for offset in range(-2, 3)]
    band = sum((np.diagonal(a, offset) ** 2).sum() for offset in (-1, 0, 1))
    top = np.sort(received)[-3:]
    columns = -(received * np.log2(np.maximum(received, 1e-30))).sum()
    block, of_words = a.sum() / n, (a @ text.of_words).sum()
    lengths = np.sqrt(squares), np.sqrt(squares * n * (text.of_words**2).sum())
    return np.array([
        entropy, distance, to_special,
        *diagonals, max(diagonals), sum(diagonals[1:4]) / max(1 - to_special, 0.05), band / squares, distance / n,
        top[-1], top.sum(), n * (received * received).sum() / squares, columns / bits, to_special, entropy / bits,
        0.0, block / lengths[0], of_words / lengths[1], 0.0, (bits - 3) / 4,  # single sentences: one side, no pair
    ])  # fmt: skip


def strongest(on_tokens: np.ndarray, text: Text) -> np.ndarray:
    """[feature, 2]: the attention to its strongest word, and that expected of as many random words; NaN without."""
    on_words = on_tokens @ text.to
    features = text.kinds[:-1]
    most = np.where(features.any(1), (on_words * features).max(1), np.nan)
    random = text.random @ np.sort(on_words[text.kinds[-1] > 0])
    return np.stack([np.append(most, [on_tokens[0], on_tokens[text.special][1:].max()]), random], 1)


def change(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """The cosine and the Jensen-Shannon divergence of a head's two maps."""
    cosine = (before * after).sum() / np.sqrt((before * before).sum() * (after * after).sum())
    mean, own, other = ((p * np.log2(np.maximum(p, 1e-30))).sum() for p in ((before + after) / 2, before, after))
    return cosine, ((own + other) / 2 - mean) / len(before)


def heads_apart(rows: np.ndarray) -> np.ndarray:
    """[head, head]: the Jensen-Shannon divergence between all heads' attention [head, key] on one query."""
    own = (rows * np.log2(np.maximum(rows, 1e-30))).sum(-1)
    found = np.zeros((len(rows), len(rows)))
    for head, one in enumerate(rows):
        both = (rows + one) / 2
        found[head] = (own + own[head]) / 2 - (both * np.log2(np.maximum(both, 1e-30))).sum(-1)
    return found


def _texts(
    encoders: Sequence[Encoder], examples: Examples, marked: Sequence[Sequence[np.ndarray]], pairs: Pairs
) -> Iterator[tuple[int, Text, list[tuple[list[np.ndarray], np.ndarray]]]]:
    """Each text's place, and each encoder's maps [query, key] of all heads and outputs [layer, token, head x d]."""
    assert examples.words is not None
    for start in range(0, len(examples), BATCH):
        words = [list(row) for row in examples.words[start : start + BATCH]]
        batch = encoders[0].tokenizer(
            words, is_split_into_words=True, padding="max_length", truncation=True, max_length=LONGEST,
            return_tensors="pt",
        )  # fmt: skip
        shown = [_eager(encoder, batch.to(encoder.device)) for encoder in encoders]
        for place, n in enumerate(batch["attention_mask"].sum(1).tolist()):
            row = start + place
            at = slice(*pairs.starts[row : row + 2])
            kinds = np.vstack([*(one[row] for one in marked), np.ones(len(words[place]))]).astype(np.float32)
            relations = np.arange(len(pairs.names))[:, None] == pairs.relation[at]
            text = Text(batch.word_ids(place)[:n], kinds, pairs.ends[at], pairs.controls[at], relations.astype(float))
            yield row, text, [
                ([one for layer in maps for one in layer[place, :, :n, :n]], outputs[:, place])
                for maps, outputs in shown
            ]  # fmt: skip


@torch.inference_mode()
def _eager(encoder: Encoder, batch: Any) -> tuple[list[np.ndarray], np.ndarray]:
    """All maps, layer by layer, and what goes into the layers' output projections."""
    outputs: list[np.ndarray] = []
    hooks = [
        encoder.parts(block)[1].register_forward_pre_hook(lambda module, args: outputs.append(args[0].cpu().numpy()))
        for block in encoder.layers
    ]
    encoder.model.set_attn_implementation("eager")
    found = encoder.model.base_model(**batch, output_attentions=True)
    encoder.model.set_attn_implementation("sdpa")
    for hook in hooks:
        hook.remove()
    return [layer.cpu().numpy() for layer in found.attentions], np.stack(outputs)
