"""A dependency parser on an encoder: the mean of each word's pieces, biaffine scores, the best tree.

The first token ([CLS]) stands for what is above the root. The parser is a part of the library's own bare model, which
is saved with it and opens without it; what it is like stands in config.json.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from safetensors import safe_open
from torch import Tensor

from bertscope.core.errors import UserError
from bertscope.core.examples import NOTHING, Examples
from bertscope.core.progress import progress
from bertscope.models.batches import WINDOW, Batch, batches
from bertscope.models.biaffine import Biaffine
from bertscope.models.config_notes import PARSER, notes_in
from bertscope.models.encoder import Encoder
from bertscope.models.new_task_head import with_new_task_head
from bertscope.models.observe import default_budget, evaluating
from bertscope.models.spanning_tree import best_trees

_SIZES = {"arc_size": 128, "relation_size": 64}


def with_parser(base: Encoder, relations: tuple[str, ...], *, seed: int = 0, **how: Any) -> Encoder:
    """A copy of the encoder with a fresh parser for these relations; `how` as for `fresh`."""

    def build(config: Any) -> Any:
        return transformers.AutoModel.from_config(config, dtype=torch.float32)

    model = with_new_task_head(base, build, seed=seed, **how)
    if not any(name.startswith("pooler") for name in base.model.base_model.state_dict()) and hasattr(model, "pooler"):
        model.pooler = None  # a parser has no use for one; a random one would pass for pretrained
    said = {"relations": list(relations), **_SIZES}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model.parser = _parser(model, said).to(base.device)
    model.config.bertscope = model.config.bertscope | {PARSER: said}
    return Encoder(model.eval(), base.tokenizer, model.config.bertscope["name"], base.family, "parser")


def parser_of(config: dict[str, Any]) -> dict[str, Any] | None:
    """What a config.json says of the parser on top, if there is one."""
    return notes_in(config).get(PARSER)


def add_parser(model: Any, said: dict[str, Any], weights: list[Path]) -> set[str]:
    """Put the parser that was saved with the model back on it; gives the names of weights that are missing."""
    model.parser = _parser(model, said)
    prefix, found = f"{PARSER}.", dict[str, Tensor]()
    for path in weights:
        with safe_open(path, "pt") as file:
            found |= {key.removeprefix(prefix): file.get_tensor(key) for key in file.keys() if key.startswith(prefix)}  # noqa: SIM118 (no dict)
    return {prefix + key for key in model.parser.load_state_dict(found, strict=False).missing_keys}


def _parser(model: Any, said: dict[str, Any]) -> Biaffine:
    sizes = {name: said[name] for name in _SIZES}
    return Biaffine(model.config.hidden_size, len(said["relations"]), **sizes)


def word_vectors(model: Any, batch: Batch, words: int) -> Tensor:
    """[row, 1 + word, hidden]: the first token's vector, then for each word the mean of its pieces; 0 where a word
    has none."""
    states = model(**batch.inputs).last_hidden_state
    share = (batch.words[:, None] == torch.arange(words, device=states.device)[:, None]).to(states.dtype)
    means = (share / share.sum(-1, keepdim=True).clamp_min(1)) @ states
    return torch.cat([states[:, :1], means], dim=1)


def arc_scores(model: Any, vectors: Tensor, counts: Tensor) -> Tensor:
    """[row, word, 1 + word]: scores of each word's heads; -inf for itself and for what is behind the sentence."""
    scores = model.parser.arcs(vectors).float()
    head = torch.arange(scores.shape[-1], device=scores.device)
    itself = head[1:, None] == head
    return scores.masked_fill(itself | (head > counts[:, None])[:, None], -torch.inf)


def seen_words(batch: Batch) -> Tensor:
    """How many words of each row the model reads: all, unless the sentence is too long for it."""
    return batch.words.amax(1) + 1


def predict_trees(
    encoder: Encoder, examples: Examples, *, tokens: int | None = None, window: int = WINDOW
) -> tuple[np.ndarray, int]:
    """Each word's head and relation in the best tree [example, word, 2], and how many sentences were cut: of their
    lost words nothing is said."""
    if examples.words is None or examples.pair is not None:
        raise UserError(f"{encoder.name} parses sentences whose words are marked; give a treebank")
    outputs = np.full((len(examples), max(map(len, examples.words)), 2), NOTHING)
    truncated, model = 0, encoder.model
    with evaluating([encoder]), torch.inference_mode(), progress("parsing", len(examples)) as bar:
        for batch in batches(
            encoder.tokenizer, examples, max_length=encoder.max_length, tokens=tokens or default_budget(encoder),
            window=window, device=encoder.device,
        ):  # fmt: skip
            counts = seen_words(batch)
            width = int(counts.max())
            vectors = word_vectors(model, batch, width)
            scores = arc_scores(model, vectors, counts).log_softmax(-1)
            heads = best_trees(scores.double().cpu().numpy(), counts.cpu().numpy())
            relations = model.parser.relations(vectors, torch.from_numpy(heads).to(vectors.device)).argmax(-1)
            inside = np.arange(width) < counts.cpu().numpy()[:, None]
            found = np.stack([heads - 1, relations.cpu().numpy()], axis=-1)
            outputs[batch.rows, :width] = np.where(inside[..., None], found, NOTHING)
            truncated += batch.truncated
            bar.advance(len(batch))
    return outputs, truncated
