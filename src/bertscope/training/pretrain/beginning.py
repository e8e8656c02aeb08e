"""What a pre-training begins with: weights drawn at random, or a model that has learnt already."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from transformers import BertConfig, BertForMaskedLM, BertForPreTraining

from bertscope.core.config import to_json
from bertscope.core.errors import UserError
from bertscope.core.model_record import DataRecord, ModelRecord, Origin
from bertscope.models.config_notes import origin_note
from bertscope.models.encoder import Encoder
from bertscope.models.evaluating import best_device
from bertscope.models.families import family_of
from bertscope.models.new_vocabulary import SPECIAL, continues_a_word
from bertscope.training.packed_text import PackedText
from bertscope.training.pretrain.question import PretrainConfig, pretrain


class Beginning(Protocol):
    def shaped(self, config: PretrainConfig) -> PretrainConfig:
        """The config of what begins so."""

    def reader(self, config: PretrainConfig) -> Any:
        """The tokenizer that reads the text; None: it is to be learnt from that."""

    def encoder(self, config: PretrainConfig, text: PackedText, name: str, teacher: Encoder | None = None) -> Encoder:
        """The model before any step, by a config that is settled; `name` is the text's."""

    def close(self, encoder: Encoder, config: PretrainConfig) -> None:
        """What a model that is kept needs beside what it learnt."""


def beginning(start: Encoder | None, config: PretrainConfig) -> Beginning:
    if start is None and config.init == "random":
        raise UserError("init is random, and without --start weights are drawn anyway; leave it out, or give a model")
    if start is None:
        return Drawn()
    return GoingOn(start) if config.init == "pretrained" else Redrawn(start)


class Drawn:
    def shaped(self, config: PretrainConfig) -> PretrainConfig:
        return replace(config, positions=config.n_positions)

    def reader(self, config: PretrainConfig) -> Any:
        return None

    def encoder(self, config: PretrainConfig, text: PackedText, name: str, teacher: Encoder | None = None) -> Encoder:
        made = BertConfig(
            vocab_size=len(text.tokenizer), hidden_size=config.n_units, num_hidden_layers=config.n_layers,
            num_attention_heads=config.n_heads, intermediate_size=4 * config.n_units,
            max_position_embeddings=config.n_positions, pad_token_id=text.tokenizer.pad_token_id,
        )  # fmt: skip
        made.bertscope = _noted(config, text, name, teacher)
        model = _model(made, config)
        _know_frequencies(model, text)
        return _encoder(model, text, f"{config.layers}x{config.heads}x{config.units} on {name}")

    def close(self, encoder: Encoder, config: PretrainConfig) -> None:
        _know_parts(encoder, config)


class GoingOn:
    """From a BERT with its words' guesses on top. The vocabulary stays as it is; positions may become more."""

    def __init__(self, base: Encoder) -> None:
        self._base = base
        config, tokenizer = base.model.config, base.tokenizer
        if config.model_type != "bert" or base.task_head != "masked-lm":
            on_top = "nothing" if base.task_head == "none" else f"a {base.task_head}"
            raise UserError(
                f"a pre-training can't go on from {base.name}: it is a {config.model_type} with {on_top} on top; "
                "give a BERT that guesses masked words"
            )
        if not continues_a_word(tokenizer).any() or set(SPECIAL) - set(tokenizer.get_vocab()):
            raise UserError(
                f"a pre-training can't go on from {base.name}: its tokenizer isn't BERT's, which has pieces with ## "
                f"and {', '.join(SPECIAL)}"
            )

    def shaped(self, config: PretrainConfig) -> PretrainConfig:
        has = self._base.model.config
        return config.going_on(
            {
                "layers": has.num_hidden_layers, "heads": has.num_attention_heads, "units": has.hidden_size,
                "vocabulary": has.vocab_size, "positions": has.max_position_embeddings, "cased": self._is_cased,
            }
        )  # fmt: skip

    def reader(self, config: PretrainConfig) -> Any:
        tokenizer = copy.deepcopy(self._base.tokenizer)
        tokenizer.model_max_length = config.n_positions
        return tokenizer

    def encoder(self, config: PretrainConfig, text: PackedText, name: str, teacher: Encoder | None = None) -> Encoder:
        made = self._shape(config)
        made.bertscope = _noted(config, text, name, teacher, self._base.record)
        model = _model(made, config)
        self._take_over(model)
        return _encoder(model, text, f"{self._base.name} on {name}")

    def close(self, encoder: Encoder, config: PretrainConfig) -> None:
        """Nothing: second parts are read as the base reads them."""

    def _shape(self, config: PretrainConfig) -> BertConfig:
        """The base's, without how attention was to be computed for whoever opened it."""
        has = self._base.model.config.to_dict() | {"max_position_embeddings": config.n_positions, "dtype": None}
        return BertConfig.from_dict(has)

    @property
    def _is_cased(self) -> bool:
        """By what its tokenizer does with a capital."""
        normalizer = self._base.tokenizer.backend_tokenizer.normalizer
        return normalizer is None or normalizer.normalize_str("A") == "A"

    def _take_over(self, model: Any) -> None:
        """All weights of the base. What it may lack is what tells whether a second part follows, which stays as it
        was drawn; what it may have too much is that."""
        weights = dict(self._base.model.state_dict())
        name = next(key for key in weights if key.endswith("embeddings.position_embeddings.weight"))
        weights[name] = _more_positions(weights[name], model.config.max_position_embeddings)
        weights.pop(name.replace("position_embeddings.weight", "position_ids"), None)
        try:
            found = model.load_state_dict(weights, strict=False)
        except RuntimeError as error:
            raise UserError(f"a pre-training can't go on from {self._base.name}: it was cut") from error
        lacking = [key for key in found.missing_keys if not _tells_what_follows(key)]
        assert not lacking and all(map(_tells_what_follows, found.unexpected_keys)), found


class Redrawn(GoingOn):
    """With the vocabulary and shape of a BERT, and weights that are drawn: how it would come to what it knows."""

    def encoder(self, config: PretrainConfig, text: PackedText, name: str, teacher: Encoder | None = None) -> Encoder:
        made = self._shape(config)
        made.bertscope = _noted(config, text, name, teacher)
        model = _model(made, config)
        _know_frequencies(model, text)
        return _encoder(model, text, f"{self._base.name} drawn anew on {name}")

    def close(self, encoder: Encoder, config: PretrainConfig) -> None:
        _know_parts(encoder, config)


def _know_frequencies(model: Any, text: PackedText) -> None:
    """How frequent pieces are is in the last bias from the start. Otherwise it is learnt first, by states that become
    alike, since that is the quickest way; of which deep models don't recover."""
    known = torch.from_numpy(np.log(text.frequencies()))
    with torch.no_grad():
        model.cls.predictions.bias.fill_(known.min())  # a model may have more pieces than its tokenizer
        model.cls.predictions.bias[: len(known)] = known


def _know_parts(encoder: Encoder, config: PretrainConfig) -> None:
    """Where no row had a second part, that of a pair is read as the first: otherwise as it was drawn."""
    if not config.next_sentence:
        with torch.no_grad():
            parts = encoder.model.base_model.embeddings.token_type_embeddings.weight
            parts[1:] = parts[0]


def _tells_what_follows(key: str) -> bool:
    return "pooler" in key or "seq_relationship" in key


def _more_positions(known: Tensor, count: int) -> Tensor:
    """[position, unit]: those that are there, and then again from the second one on, for as many as are wanted: what
    is near in a text stays near, but for the seams. The first one stands for [CLS]."""
    again = 1 + torch.arange(count - len(known)) % (len(known) - 1)
    return torch.cat([known, known[again.to(known.device)]])


def _model(made: BertConfig, config: PretrainConfig) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        return (BertForPreTraining if config.next_sentence else BertForMaskedLM)(made)


def _encoder(model: Any, text: PackedText, name: str) -> Encoder:
    model.to(best_device()).eval()
    return Encoder(model, text.tokenizer, name, family_of(model.config.model_type), "masked-lm")


def _noted(
    config: PretrainConfig, text: PackedText, name: str, teacher: Encoder | None, base: ModelRecord | None = None
) -> dict[str, Any]:
    learned = DataRecord(text.digest, name, "texts")
    recipe = to_json(config) | ({"teacher": f"{teacher.name} ({teacher.id})"} if teacher else {})
    return origin_note(Origin(pretrain.name, base, learned, config.seed, recipe=recipe))
