"""What the library is asked before, and after, it opens a model: whether it can build what config.json says, whether
the weights can be those of it, and whether it reads a text."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from bertscope.core.errors import UserError
from bertscope.models.config_check import CONFIG_AGAIN
from bertscope.models.encoder import Encoder
from bertscope.models.evaluating import evaluating
from bertscope.models.families import Family
from bertscope.models.library_failures import library_failures
from bertscope.models.quiet import quiet_library
from bertscope.models.surgery import reshape
from bertscope.models.weight_files import weights_held

_HOW_TO_RUN = (
    "attn_implementation", "experts_implementation", "return_dict", "output_attentions", "output_hidden_states",
    "tie_last_hidden_states", "torchscript", "dtype", "torch_dtype", "chunk_size_feed_forward", "use_cache",
    "gradient_checkpointing", "reference_compile", "fusion_config", "distributed_config", "transformers_weights",
    "auto_map",
)  # fmt: skip
"""What a config says of how somebody ran the model last, and not of what it is. How it runs is for us to say: in
single precision, with outputs that have names, with attention that needs no package and no download."""


def library_config(folder: Path, config: dict[str, Any]) -> Any:
    """The library's own config of what config.json says the model is."""
    kind = CONFIG_MAPPING[config["model_type"]]
    own = {field.name for field in fields(kind)} | {"num_labels", "rope_scaling"}
    # Any other key becomes an attribute, also one that has the name of a method.
    what_it_is = {
        name: value for name, value in config.items()
        if name not in _HOW_TO_RUN and not name.startswith("_") and (name in own or not hasattr(kind, name))
    }  # fmt: skip
    path = folder / "config.json"
    with library_failures(f"{path} isn't the config of a {config['model_type']}", CONFIG_AGAIN), quiet_library():
        return kind.from_dict(what_it_is)


def refuse_larger(
    folder: Path, opener: Any, config: Any, family: Family, shape: dict[str, Any] | None, weights: list[Path]
) -> None:
    """Refuse a config that describes another model than the weights are of, before memory is taken for it."""
    held = weights_held(weights)
    path = folder / "config.json"
    with library_failures(f"no model can be built as {path} says", CONFIG_AGAIN), torch.device("meta"):
        model = opener.from_config(config, dtype=torch.float32)
    if shape is not None:
        reshape(model, family, shape)
    asked = sum(parameter.numel() for parameter in model.parameters())
    if held is not None and asked > 2 * held:  # a pooler may lack, and what is on top
        raise UserError(f"{path} describes a model of {asked:,} weights, and there are {held:,}: they don't belong "
                        "together; copy the model again")  # fmt: skip


def refuse_mute(encoder: Encoder, which: str, remedy: str) -> None:
    """Refuse a model that opens but can't read a text: some of what a config says matters only then. `which` tells it
    from others, `remedy` says what to do."""
    tokenizer, longest = encoder.tokenizer, encoder.max_length
    if longest <= (around := tokenizer.num_special_tokens_to_add()):
        raise UserError(f"{which} reads at most {longest} tokens, {around} of them not the text's; "
                        "correct max_position_embeddings in its config, or its tokenizer")  # fmt: skip
    with library_failures(f"{which} can't read a text", remedy), evaluating([encoder]), torch.inference_mode():
        coded = tokenizer(["A text."], truncation=True, max_length=longest, return_tensors="pt")
        said = encoder.model(**encoder.shaped(dict(coded.to(encoder.device))))
    if isinstance(said, tuple):
        raise UserError(f"{which} gives its outputs without names; set its config.return_dict to True")
