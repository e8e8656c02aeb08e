"""A new head on an encoder: what fine-tuning starts from."""

from __future__ import annotations

import copy
from typing import Literal

import torch
import transformers

from bertscope.models.encoder import Encoder
from bertscope.models.surgery import reshape
from bertscope.models.top import Top, set_dropout


def with_classifier(
    base: Encoder,
    labels: tuple[str, ...],
    *,
    init: Literal["pretrained", "random"] = "pretrained",
    seed: int = 0,
    name: str | None = None,
    tuned_on: str | None = None,
    top: Top = Top(),  # noqa: B008 (frozen)
    dropout: float | None = None,
) -> Encoder:
    """A copy of the encoder with a fresh classifier on top, or a regressor where `labels` is empty.

    `init="random"` draws all of its weights anew, as before any pre-training: the control for what pre-training gave.
    The base is untouched. The same seed gives the same weights. `name` and the task's
    fingerprint `tuned_on` travel with the model, inside its config. `top` is the classifier's form, `dropout` what is
    dropped before it, if not as much as the family does.
    """
    config = copy.deepcopy(base.model.config)
    said = getattr(config, "bertscope", None) or {}
    config.bertscope = said | {"name": name or base.name, "tuned_on": tuned_on}
    config.problem_type = "single_label_classification" if labels else "regression"
    config.id2label = dict(enumerate(labels or ("score",)))
    config.label2id = {label: index for index, label in config.id2label.items()}
    top.write_down(config)
    if dropout is not None:
        set_dropout(config, base.family, dropout)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = transformers.AutoModelForSequenceClassification.from_config(config, dtype=torch.float32)
        top.put_on(model, base.family)
    if "shape" in said:  # a cut encoder stays cut
        reshape(model, base.family, base.head_size, said["shape"])
    if init == "pretrained":
        # Not strict: a masked LM has no pooler to give, and a classifier needs one; it then starts fresh.
        missing, _ = model.base_model.load_state_dict(base.model.base_model.state_dict(), strict=False)
        if foreign := [key for key in missing if not key.startswith("pooler")]:
            raise ValueError(f"{base.name} lacks {foreign}, which a classifier of its family needs")
    model.eval().to(base.device)
    return Encoder(model, base.tokenizer, name or base.name, base.family, "classifier")


def bare(base: Encoder, *, name: str) -> Encoder:
    """A copy of the encoder with nothing on top; the base is untouched."""
    model = copy.deepcopy(base.model.base_model).eval()
    model.config.bertscope = (getattr(model.config, "bertscope", None) or {}) | {"name": name, "tuned_on": None}
    return Encoder(model, base.tokenizer, name, base.family, "none")


def with_random_weights(base: Encoder, seed: int = 0) -> Encoder:
    """The encoder as it would be before any training: the same architecture and tokenizer, all weights drawn anew."""
    return with_classifier(base, (), init="random", seed=seed, name=f"{base.name} (random init)")
