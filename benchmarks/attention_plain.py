"""The five questions about attention as one would write them with transformers and NumPy: one map at a time.

All that bertscope's readers measure is measured here: the parts of a map, the numbers that tell its shape, and its
class by three classifiers; what fine-tuning changed; attention to kinds of words, beside what random words would get;
pairs of words in a relation, and their controls, which are given; all heads against each other on one query; the
heads' outputs for some tokens. What words get is also told beyond what they would get of a head that attends to all
tokens alike. What each text gave is kept, and resampled in one product at the end.
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
from benchmarks.shapes_plain import numbers, shares
from bertscope.analyses.relations.pairs import Pairs
from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed, mixed
from bertscope.models.encoder import Encoder

TOKENS, REPEATS, ROUNDING = 2000, 1000, 1e-6
Found = dict[str, np.ndarray]
Classify = Callable[[np.ndarray], np.ndarray]
"""From what tells maps' classes [map, number] to [map, classifiers x classes], 1 for the class of the map."""


@dataclass
class Text:
    """What of a text serves all its maps."""

    word_ids: Sequence[int | None]
    kinds: np.ndarray
    """[kind, word]: which words have which feature; the last kind is any word but punctuation."""
    ends: np.ndarray
    """[pair, (source, target)]: words in a relation."""
    relations: np.ndarray
    """[relation, pair]: 1 for the pair's relation."""
    compared: np.ndarray
    """[relation, pair]: the same, where the pair has a control."""
    control_ends: np.ndarray
    """[control, (source, target)]: the controls in this text, of pairs of whichever text."""
    controls: np.ndarray
    """[relation, control]: 1 for the relation of the control's pair."""

    def __post_init__(self) -> None:
        n, (_, n_words) = len(self.word_ids), self.kinds.shape
        self.special = np.array([word is None for word in self.word_ids])
        self.to = np.array([[word == other for other in range(n_words)] for word in self.word_ids], np.float32)
        self.share = (self.to / np.maximum(self.to.sum(0), 1)).T
        self.apart = np.abs(np.arange(n)[:, None] - np.arange(n)).astype(np.float32)
        self.uniform = np.full((n, n), 1 / n, np.float32)
        self.uniform_between = self.between(self.uniform)

    def between(self, a: np.ndarray) -> np.ndarray:
        """[from, to]: what words give other words in a map [query, key]."""
        found = self.share @ a @ self.to
        np.fill_diagonal(found, 0)
        return found

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
        drawn = np.minimum(np.append(self.kinds[:-1].sum(1), [1, 1]), total)[:, None]
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
            of_text["class"] = classify(of_text.pop("numbers"))
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
    n_heads = found["divergence"].shape[1] // n_layers
    apart = found["divergence"].reshape(-1, n_layers, n_heads, n_layers, n_heads).sum((2, 4))
    values = {name: found[name] for name in ("class", "shape", "change", "features", "special") if name in found}
    values |= {"pairs": pairs, "divergence": apart}
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
    received, between = a.mean(0), text.between(a)
    beyond = between - text.uniform_between
    ends, others = text.ends, text.ends[:, ::-1]
    hits = between.argmax(-1)[ends] == others
    in_pairs, in_controls = (
        np.where(np.abs(one) < ROUNDING, 0, one)
        for one in (beyond[ends, others], beyond[text.control_ends, text.control_ends[:, ::-1]])
    )
    related = text.relations @ hits, text.compared @ in_pairs, text.controls @ in_controls
    special = received[0], received[text.special][1:].sum(), received[text.special][1:].mean()
    of_kinds, of_kinds_beyond = ((text.kinds @ one @ text.kinds.T) * text.per_pair for one in (between, beyond))
    of_any = np.where(np.isnan(of_kinds), np.nan, of_kinds_beyond[-1, -1])
    shape = np.append(shares(a), measures(a, received, text))
    return {
        "shape": shape,
        "numbers": numbers(a, received, text.special, shape),
        "features": np.stack([strongest(received, text), strongest(a[0], text)]),
        "special": np.array(special),
        "pairs": np.stack([of_kinds, of_kinds_beyond, of_any], -1),
        "relations": np.stack(related, -1),  # [relation, direction, (hits, beyond uniform, the same in controls)]
    }


def measures(a: np.ndarray, received: np.ndarray, text: Text) -> tuple[float, ...]:
    """The attention to special tokens, the entropy and the distance."""
    entropy = -(a * np.log2(np.maximum(a, 1e-30))).sum() / len(a)
    return received[text.special].sum(), entropy, (a * text.apart).sum() / len(a)


def strongest(on_tokens: np.ndarray, text: Text) -> np.ndarray:
    """[feature, 3]: the attention to its strongest word, that of the word strongest beyond uniform, and what of that
    is expected of as many random words; NaN without such words."""
    beyond = on_tokens - 1 / len(on_tokens)
    features = text.kinds[:-1] > 0
    most = []
    for tokens in (on_tokens, beyond):
        words = np.where(features, tokens @ text.to, -np.inf).max(1)
        special = tokens[0], tokens[text.special][1:].max()
        most.append(np.append(np.where(features.any(1), words, np.nan), special))
    random = text.random @ np.sort((beyond @ text.to)[text.kinds[-1] > 0])
    return np.stack([*most, random], 1)


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
    numbered = np.arange(len(pairs.names))[:, None]
    has_control = np.isin(np.arange(len(pairs.relation)), pairs.with_control)
    of_controls = pairs.relation[pairs.with_control[pairs.control_of]]
    for start in range(0, len(examples), BATCH):
        words = [list(row) for row in examples.words[start : start + BATCH]]
        batch = encoders[0].tokenizer(
            words, is_split_into_words=True, padding="max_length", truncation=True, max_length=LONGEST,
            return_tensors="pt",
        )  # fmt: skip
        shown = [_eager(encoder, batch.to(encoder.device)) for encoder in encoders]
        for place, n in enumerate(batch["attention_mask"].sum(1).tolist()):
            row = start + place
            at, here = slice(*pairs.starts[row : row + 2]), slice(*pairs.control_starts[row : row + 2])
            kinds = np.vstack([one[row] for one in marked]).astype(np.float32)
            relations = (numbered == pairs.relation[at]).astype(np.float32)
            controls = (numbered == of_controls[here]).astype(np.float32)
            text = Text(
                batch.word_ids(place)[:n], kinds, pairs.ends[at], relations, relations * has_control[at],
                pairs.control_ends[here], controls,
            )  # fmt: skip
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
