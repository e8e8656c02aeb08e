"""A BERT of one layer whose heads are built by hand, and sentences in which it is known what they find.

Each token's embedding is three ones among zeros: its position, its kind, its segment. LayerNorm maps every such
vector alike, so that a query or key can be read off exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification

from bertscope.core.examples import ROOT, Examples
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from device import DEVICE
from pocket_facts import PIECES

VERBS = ("saw", "took", "gave", "made", "found", "left", "heard", "knew")
NOUNS = ("house", "book", "road", "door", "hand", "tree", "water", "night")
FILLERS = ("the", "old", "in", "and", "very", "with", "long", "from")
HEADS = ("previous", "sep", "segment", "match", "uniform")
_POSITIONS, _SIZE, _SHARP = 32, 48, 8.0
_SEGMENT, _KIND = _POSITIONS, _POSITIONS + 2
_SEP, _VERB, _NOUN = _KIND + 1, _KIND + 2, _KIND + 2 + len(VERBS)


def planted(tokenizer, heads: Sequence[str] = HEADS) -> Encoder:
    """Heads that attend to the previous token, to [SEP], in the segment, from a verb to its noun, to all alike."""
    hidden = _SIZE * len(heads)
    config = BertConfig(
        vocab_size=PIECES, hidden_size=hidden, num_hidden_layers=1, num_attention_heads=len(heads),
        intermediate_size=8, max_position_embeddings=_POSITIONS, num_labels=2, layer_norm_eps=1e-12,
    )  # fmt: skip
    torch.manual_seed(3)
    model = BertForSequenceClassification(config).eval()
    kinds = dict.fromkeys(range(config.vocab_size), _KIND)
    kinds[tokenizer.sep_token_id] = _SEP
    vocab = tokenizer.vocab  # made anew whenever it is asked for
    for first, words in ((_VERB, VERBS), (_NOUN, NOUNS)):
        kinds |= {vocab[word]: first + number for number, word in enumerate(words)}
    embeddings, attention = model.bert.embeddings, model.bert.encoder.layer[0].attention.self
    mean = 3 / hidden
    spread = (mean - mean**2) ** 0.5
    with torch.no_grad():
        for table, dims in (
            (embeddings.word_embeddings, [kinds[number] for number in range(config.vocab_size)]),
            (embeddings.position_embeddings, range(_POSITIONS)),
            (embeddings.token_type_embeddings, (_SEGMENT, _SEGMENT + 1)),
        ):
            table.weight.zero_()
            table.weight[torch.arange(len(table.weight)), torch.tensor(list(dims))] = 1
        for linear, which in ((attention.query, 0), (attention.key, 1)):
            whole = torch.cat([_maps(kind, hidden)[which] for kind in heads]) * spread
            linear.weight.copy_(whole)
            linear.bias.copy_(whole.sum(1) * mean / spread)  # takes away what LayerNorm makes of the zeros
    return load(model.to(DEVICE), tokenizer=tokenizer)


def _maps(kind: str, hidden: int) -> tuple[torch.Tensor, torch.Tensor]:
    """From what a token is to its query and its key, [head size, hidden] each."""
    query, key = torch.zeros(_SIZE, hidden), torch.zeros(_SIZE, hidden)
    place = torch.arange(_POSITIONS)
    if kind == "previous":
        query[place[:-1], place[1:]] = 1
        key[place, place] = 1
    elif kind == "sep":
        query[0, place] = 1
        key[0, _SEP] = 1
    elif kind == "segment":
        query[:2, _SEGMENT:_KIND] = key[:2, _SEGMENT:_KIND] = torch.eye(2)
    elif kind == "match":
        query[: len(VERBS), _VERB:_NOUN] = torch.eye(len(VERBS))
        key[: len(NOUNS), _NOUN : _NOUN + len(NOUNS)] = torch.eye(len(NOUNS))
    return query * _SHARP * _SIZE**0.5, key


def sentences(n: int = 120, seed: int = 0) -> Examples:
    """Each has a verb and, 2 to 7 words on, its object; and an `of`, whose head is the word before it."""
    generator = np.random.default_rng(seed)
    words, heads, relations = [], [], []
    for _ in range(n):
        length = int(generator.integers(12, 18))
        row = list(generator.choice(FILLERS, length))
        verb, far, which = int(generator.integers(3)), int(generator.integers(2, 8)), int(generator.integers(8))
        row[verb], row[verb + far], row[-1] = VERBS[which], NOUNS[which], "of"
        head, relation = [ROOT] * length, ["root"] * length
        head[verb + far], relation[verb + far] = verb, "obj"
        head[-1], relation[-1] = length - 2, "case"
        words.append(tuple(map(str, row)))
        heads.append(tuple(head))
        relations.append(tuple(relation))
    return Examples(
        ids=tuple(f"s{number}" for number in range(n)),
        text=tuple(f"{number}: {' '.join(row)}" for number, row in enumerate(words)),
        words=tuple(words),
        governors=tuple(heads),
        marks={"relation": tuple(relations)},
    )


def pairs(n: int = 60) -> Examples:
    """Pairs of texts of 4 to 11 words."""
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(FILLERS, random.integers(4, 12))) for _ in range(2 * n)]
    ids = tuple(str(row) for row in range(n))
    return Examples(ids, tuple(texts[:n]), tuple(texts[n:]), name="made up")
