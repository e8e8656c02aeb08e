"""A dependency parser on an encoder: the mean of each word's pieces, biaffine scores, the best tree.

The first token ([CLS]) stands for what is above the root. The parser is a part of the library's own bare model, which
is saved with it and opens without it; what it is like stands in config.json.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import transformers
from safetensors import safe_open
from torch import Tensor, nn

from bertscope.core.errors import UserError
from bertscope.models.batches import Batch
from bertscope.models.config_notes import PARSER, notes_in
from bertscope.models.evaluating import at_least_single
from bertscope.models.new_task_head import with_new_task_head

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

_SIZES = {"arc_size": 128, "relation_size": 64}
_DROPOUT = 0.1  # theirs is 0.33, for a parser trained for days; the encoder below drops out too


class Biaffine(nn.Module):
    """Biaffine scores of arcs and relations between words (Dozat and Manning 2017, Deep Biaffine Attention): from
    vectors of words to scores of their governors and relations. Word 0 is what is above the root.

    A word has four small vectors, each its own linear layer and a leaky ReLU: as governor and as dependent, for arcs
    and for relations. With g the governor's and d the dependent's, an arc scores g'Ud + g'u and a relation
    g'U_r d + g'a_r + d'b_r + c_r; here the linear parts are a column more in U, as if the vectors had a 1 at the end.
    """

    def __init__(self, hidden: int, relations: int, arc_size: int = 128, relation_size: int = 64) -> None:
        super().__init__()
        # `head` here is the governor: saved models have their weights under these names.
        self.arc_head, self.arc_dependent = _small(hidden, arc_size), _small(hidden, arc_size)
        self.relation_head, self.relation_dependent = _small(hidden, relation_size), _small(hidden, relation_size)
        self.arc_weight = nn.Parameter(torch.empty(arc_size, arc_size + 1))
        self.relation_weight = nn.Parameter(torch.empty(relations, relation_size + 1, relation_size + 1))
        nn.init.xavier_uniform_(self.arc_weight)
        for weight in self.relation_weight:
            nn.init.xavier_uniform_(weight)

    def arcs(self, vectors: Tensor) -> Tensor:
        """[batch, 1 + word, hidden] -> [batch, word, 1 + word]: how well each governor suits each word."""
        governors, dependents = self.arc_head(vectors), _with_one(self.arc_dependent(vectors[:, 1:]))
        return torch.einsum("bgi,ij,bdj->bdg", governors, self.arc_weight, dependents)

    def relations(self, vectors: Tensor, governors: Tensor) -> Tensor:
        """[batch, word, relation]: how well each relation suits a word under its governor [batch, word]."""
        at = governors[..., None].expand(-1, -1, vectors.shape[-1])
        above = _with_one(self.relation_head(vectors.gather(1, at)))
        below = _with_one(self.relation_dependent(vectors[:, 1:]))
        return torch.einsum("bwi,rij,bwj->bwr", above, self.relation_weight, below)


class EveryPair(nn.Module):
    """A model with its parser, for ONNX: from tokens and the word that each is of (-1: none) to the scores of all
    governors of all words [row, word, 1 + word], and of all relations to them. There is room for as many words as
    there are tokens; 0 among the governors is what is above the root."""

    def __init__(self, model: Any, reads: Sequence[str]) -> None:
        super().__init__()
        self.model, self._reads = model, tuple(reads)

    def forward(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        *tokens, words = inputs
        states = self.model(**dict(zip(self._reads, tokens, strict=True))).last_hidden_state
        numbers = torch.ones_like(words[0]).cumsum(0) - 1
        vectors, parser = of_words(states, words, numbers), self.model.parser
        above, below = _with_one(parser.relation_head(vectors)), _with_one(parser.relation_dependent(vectors[:, 1:]))
        relations = torch.einsum("bgi,rij,bdj->bdgr", above, parser.relation_weight, below)
        return parser.arcs(vectors), relations


def with_parser(base: Encoder, relations: tuple[str, ...], *, seed: int = 0, **how: Any) -> Encoder:
    """A copy of the encoder with a new parser for these relations; `how` as for `with_new_task_head`."""

    def build(config: Any) -> Any:
        return transformers.AutoModel.from_config(config, dtype=torch.float32)

    encoder = with_new_task_head(base, "parser", build, seed=seed, **how)
    model = encoder.model
    if not any(name.startswith("pooler") for name in base.model.base_model.state_dict()) and hasattr(model, "pooler"):
        model.pooler = None  # a parser has no use for one; a random one would pass for pretrained
    form = {"relations": list(relations), **_SIZES}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model.parser = _parser(model, form).to(base.device).eval()
    model.config.bertscope = model.config.bertscope | {PARSER: form}
    return encoder


def parser_of(config: dict[str, Any]) -> dict[str, Any] | None:
    """What a config.json notes of the parser on top: its relations and sizes; None if there is none."""
    return notes_in(config).get(PARSER)


def add_parser(model: Any, form: dict[str, Any], weights: list[Path]) -> set[str]:
    """Put the parser that was saved with the model back on it; gives the names of weights that are missing."""
    prefix, found = f"{PARSER}.", dict[str, Tensor]()
    for path in weights:
        with safe_open(path, "pt") as file:
            found |= {key.removeprefix(prefix): file.get_tensor(key) for key in file.keys() if key.startswith(prefix)}  # noqa: SIM118 (no dict)
    with torch.device("meta"):  # what the note says may be far more than there is
        said = {name: tensor.shape for name, tensor in _parser(model, form).state_dict().items()}
    if missing := {prefix + name for name in said.keys() - found.keys()}:
        return missing
    if any(found[name].shape != shape for name, shape in said.items()):
        raise UserError("the parser on top isn't of the sizes that config.json notes; copy the model again")
    model.parser = _parser(model, form)
    model.parser.load_state_dict(found, strict=False)
    return set()


def _parser(model: Any, form: dict[str, Any]) -> Biaffine:
    sizes = {name: form[name] for name in _SIZES}
    return Biaffine(model.config.hidden_size, len(form["relations"]), **sizes)


def word_vectors(model: Any, batch: Batch, words: int) -> Tensor:
    """[row, 1 + word, hidden]: the first token's vector, then for each word the mean of its pieces; 0 where a word
    has none."""
    states = model(**batch.inputs).last_hidden_state
    return of_words(states, batch.words, torch.arange(words, device=states.device))


def of_words(states: Tensor, words: Tensor, numbers: Tensor) -> Tensor:
    """From states of tokens [row, token, hidden] and their words [row, token] to the vectors of words with these
    `numbers`, behind the first token's."""
    share = (words[:, None] == numbers[:, None]).to(states.dtype)
    means = (share / share.sum(-1, keepdim=True).clamp_min(1)) @ states
    return torch.cat([states[:, :1], means], dim=1)


def arc_scores(model: Any, vectors: Tensor, counts: Tensor) -> Tensor:
    """[row, word, 1 + word]: scores of each word's governors; -inf for itself and for what is behind the sentence."""
    return possible(at_least_single(model.parser.arcs(vectors)), counts)


def possible(scores: Tensor, counts: Tensor) -> Tensor:
    """Scores of governors [row, word, 1 + word], -inf for what can't be one."""
    governor = torch.arange(scores.shape[-1], device=scores.device)
    itself = governor[1:, None] == governor
    return scores.masked_fill(itself | (governor > counts[:, None])[:, None], -torch.inf)


def seen_words(batch: Batch) -> Tensor:
    """How many words of each row the model reads: all, unless the sentence is too long for it."""
    return batch.words.amax(1) + 1


def _small(hidden: int, size: int) -> nn.Module:
    return nn.Sequential(nn.Linear(hidden, size), nn.LeakyReLU(0.1), nn.Dropout(_DROPOUT))


def _with_one(vectors: Tensor) -> Tensor:
    return torch.cat([vectors, torch.ones_like(vectors[..., :1])], dim=-1)
