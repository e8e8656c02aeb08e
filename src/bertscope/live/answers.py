"""What a checkpoint says of a reading, as the page is told it: whatever kind of output it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from bertscope.core.attributions import Wanted
from bertscope.core.examples import NOTHING, ROOT
from bertscope.core.output import SILENT
from bertscope.data.answers_in_words import NONE
from bertscope.data.entities import entities_in
from bertscope.data.outputs.classes import log_shares
from bertscope.data.tag_schemes import is_of_entities, to_iob2, with_types
from bertscope.live.checkpoints import MASK
from bertscope.live.messages import Guesses, Mark, Prediction, Share
from bertscope.live.typed import Typed
from bertscope.models.outputs.base import RowBatch

_WORDS = 10
"""Guesses at a mask."""
_OUTSIDE = "O"


@dataclass(frozen=True, eq=False)
class Answer:
    prediction: Prediction
    shares: list[np.ndarray] = field(default_factory=list)
    """The probabilities behind it, a distribution for each thing that is decided; none of a score."""
    score: float | None = None

    def distance(self, other: Answer) -> float:
        """How far two answers of one kind are apart: total variation, the mean over all that is decided, or the
        difference of scores."""
        if self.score is not None and other.score is not None:
            return abs(self.score - other.score)
        pairs = zip(self.shares, other.shares, strict=True)
        apart = [float(np.abs(one - two).sum() / 2) for one, two in pairs]
        return sum(apart) / len(apart) if apart else 0.0


def answer(typed: Typed, raw: Any, batch: RowBatch) -> Answer:
    """Inside the block in which the pass was run: some of it is computed only now."""
    assert typed.asked is not None
    return _ANSWERS[typed.asked.kind](typed, raw, batch)


def _outputs(typed: Typed, raw: Any, batch: RowBatch) -> np.ndarray:
    """What is kept of the one example, in the order of the names that it is told by."""
    asked = typed.asked
    assert asked is not None
    found = asked.outputs(raw, batch)
    array = (found.float() if found.is_floating_point() else found).cpu().numpy()
    return (array if asked.output is None else asked.output.in_order(array, typed.encoder.labels)[0])[0]


def _ranked(names: Any, logits: np.ndarray, shares: np.ndarray) -> list[Share]:
    order = np.argsort(-shares, kind="stable")
    return [Share(str(names[at]), float(shares[at]), float(logits[at])) for at in order]


def _classes(typed: Typed, raw: Any, batch: RowBatch) -> Answer:
    logits = _outputs(typed, raw, batch)
    return _of_one(typed.asked.kind, typed.asked.names, logits)  # type: ignore[union-attr]


def _of_one(kind: str, names: Any, logits: np.ndarray) -> Answer:
    """One of several."""
    shares = np.exp(log_shares(logits))
    ranked = _ranked(names, logits, shares)
    return Answer(Prediction(kind, ranked[0].label, ranked[0].p, ranked), [shares])


def _one_logit(typed: Typed, raw: Any, batch: RowBatch) -> Answer:
    (logit,) = _outputs(typed, raw, batch)
    assert typed.asked is not None
    logits, shares = np.array([-logit, logit]), _yes(np.array([-logit, logit]))
    ranked = _ranked(typed.asked.names, logits, shares)
    said = typed.asked.names[int(logit > 0)]
    return Answer(Prediction(typed.asked.kind, said, float(shares[int(logit > 0)]), ranked), [shares])


def _several(typed: Typed, raw: Any, batch: RowBatch) -> Answer:
    asked = typed.asked
    assert asked is not None
    logits = _outputs(typed, raw, batch)[: len(asked.names)]
    shares, given = _yes(logits), asked.answers(raw, batch)[0].cpu().numpy().astype(bool)
    said = ", ".join(np.array(asked.names, dtype=object)[given]) or NONE
    sure = float(np.where(given, shares, 1 - shares).min())
    return Answer(
        Prediction(asked.kind, said, sure, _ranked(asked.names, logits, shares)),
        [np.array([1 - share, share]) for share in shares],
    )


def _yes(logits: np.ndarray) -> np.ndarray:
    return np.exp(-np.logaddexp(0, -logits.astype(np.float64)))


def _score(typed: Typed, raw: Any, batch: RowBatch) -> Answer:
    value, kind = float(_outputs(typed, raw, batch)[0]), typed.asked.kind  # type: ignore[union-attr]
    name = "cosine" if kind == "vectors" else "score"
    return Answer(Prediction(kind, f"{value:.3g}", None, [Share(name, None, value)]), score=value)


def _candidates(typed: Typed, raw: Any, batch: RowBatch) -> Answer:
    return _of_one("choices", typed.texts[1:], raw[0].float().cpu().numpy())


def _span(typed: Typed, raw: Any, batch: RowBatch) -> Answer:
    asked = typed.asked
    assert asked is not None
    start, end = (int(place) for place in _outputs(typed, raw, batch))
    targets = asked.targets(raw, batch, Wanted())
    each = [scores[0].softmax(-1).cpu().double().numpy() for scores in raw]
    if not len(targets) or end <= start:
        return Answer(Prediction("spans", NONE, None), each)
    probability = asked.probability(raw, batch, targets)
    assert probability is not None
    p, value = float(probability[0]), float(asked.quantity(raw, batch, targets)[0])
    said = typed.texts[1][start:end]
    return Answer(Prediction("spans", said, p, [Share(said, p, value)], [Mark(1, start, end, "answer", p)]), each)


def _tags(typed: Typed, raw: Any, batch: RowBatch) -> Answer:
    assert typed.asked is not None
    names, logits = typed.asked.names, _outputs(typed, raw, batch)
    read = np.flatnonzero(logits.max(-1) > SILENT)
    shares = np.exp(log_shares(logits[read]))
    tags = {word: names[of_word.argmax()] for word, of_word in zip(read.tolist(), shares, strict=True)}
    sure_of = dict(zip(read.tolist(), shares.max(-1).tolist(), strict=True))
    marks = [
        Mark(0, typed.words[first][1], typed.words[last][2], label, min(sure_of[at] for at in range(first, last + 1)))
        for first, last, label in _marked(tags, len(logits), names)
    ]
    said = " ".join(f"{typed.texts[0][mark.start : mark.end].strip()}/{mark.label}" for mark in marks) or NONE
    sure = float(shares.max(-1).min()) if len(read) else None
    return Answer(Prediction("tokens", said, sure, marks=marks), list(shares))


def _marked(tags: Mapping[int, str], words: int, names: Sequence[str]) -> list[tuple[int, int, str]]:
    """First and last word and label: of the entities that tags speak of, or else of every word that has a tag."""
    every = with_types([list(names), [tags.get(word, _OUTSIDE) for word in range(words)]])
    if _OUTSIDE in names and all(map(is_of_entities, every[0])):
        return entities_in(to_iob2(every[1], "BIOES"))  # whose letters all schemes' are among
    return [(word, word, tag) for word, tag in tags.items() if tag != _OUTSIDE]


def _tree(typed: Typed, raw: Any, batch: RowBatch) -> Answer:
    """Each word with its relation and its governor; how likely it is that both are so."""
    asked = typed.asked
    assert asked is not None
    tree = asked.outputs(raw, batch)
    found, labels = tree[0].cpu().numpy(), typed.encoder.labels
    relations = raw.relations((tree[..., 0] + 1).clamp_min(0))
    arcs, kinds = (each[0].softmax(-1).cpu().double().numpy() for each in (raw.arcs, relations))
    marks, told = [], []
    for word, (governor, relation) in enumerate(found.tolist()):
        if governor == NOTHING:
            continue
        above = "root" if governor == ROOT else typed.word(governor)
        p = float(arcs[word, governor + 1] * kinds[word, relation])
        marks.append(Mark(*typed.words[word], f"{labels[relation]} of {above}", p))
        told.append(f"{typed.word(word)}/{labels[relation]}")
    sure = min((mark.p for mark in marks if mark.p is not None), default=None)
    return Answer(Prediction("trees", " ".join(told) or NONE, sure, marks=marks), [*arcs, *kinds])


def _guesses(typed: Typed, raw: Any, batch: RowBatch) -> Answer:
    tokenizer = typed.encoder.tokenizer
    if not len(raw.logits):
        return Answer(Prediction("masked", f"no {MASK} in the text: type one where a word is to be guessed", None))
    masks = (batch.marks["right"][0] != 0).nonzero()[:, 0].tolist()
    shares = raw.logits.double().softmax(-1)
    guessed = []
    for place, logits, of_mask in zip(masks, raw.logits, shares, strict=True):
        p, places = torch.topk(of_mask, min(_WORDS, len(of_mask)))
        pieces = places.tolist()
        words = [tokenizer.decode([piece]).strip() or tokenizer.convert_ids_to_tokens(piece) for piece in pieces]
        values = logits[pieces].tolist()
        guessed.append(Guesses(place, [Share(*one) for one in zip(words, p.tolist(), values, strict=True)]))
    said = " · ".join(each.words[0].label for each in guessed)
    sure = min(each.words[0].p or 0.0 for each in guessed)
    return Answer(Prediction("masked", said, sure, guesses=guessed), list(shares.cpu().numpy()))


_ANSWERS: dict[str, Callable[[Typed, Any, RowBatch], Answer]] = {
    "classification": _classes,
    "one_logit": _one_logit,
    "several": _several,
    "regression": _score,
    "vectors": _score,
    "choices": _candidates,
    "spans": _span,
    "tokens": _tags,
    "trees": _tree,
    "masked": _guesses,
}
