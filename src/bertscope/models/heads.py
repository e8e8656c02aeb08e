"""A new head on an encoder: what fine-tuning starts from."""

from __future__ import annotations

import copy
from typing import Any, Literal

import torch
import transformers

from bertscope.models.classifier_form import ClassifierForm, set_dropout
from bertscope.models.config_notes import PARSER, encoder_notes_in
from bertscope.models.encoder import Encoder
from bertscope.models.new_task_head import with_new_task_head


def with_classifier(
    base: Encoder,
    labels: tuple[str, ...],
    *,
    init: Literal["pretrained", "random"] = "pretrained",
    seed: int = 0,
    name: str | None = None,
    tuned_on: str | None = None,
    form: ClassifierForm = ClassifierForm(),  # noqa: B008 (frozen)
    dropout: float | None = None,
) -> Encoder:
    """A copy of the encoder with a fresh classifier on top, or a regressor where `labels` is empty.

    `init="random"` draws all of its weights anew, as before any pre-training: the control for what pre-training gave.
    The base is untouched. The same seed gives the same weights. `name` and the task's
    fingerprint `tuned_on` travel with the model, inside its config. `form` is the classifier's form, `dropout` what
    is dropped before it, if not as much as the family does.
    """

    def build(config: Any) -> Any:
        config.problem_type = "single_label_classification" if labels else "regression"
        config.id2label = dict(enumerate(labels or ("score",)))
        config.label2id = {label: index for index, label in config.id2label.items()}
        form.write_down(config)
        if dropout is not None:
            set_dropout(config, base.family, dropout)
        model = transformers.AutoModelForSequenceClassification.from_config(config, dtype=torch.float32)
        form.put_on(model, base.family)
        return model

    model = with_new_task_head(base, build, init=init, seed=seed, name=name, tuned_on=tuned_on)
    return Encoder(model, base.tokenizer, name or base.name, base.family, "classifier")


def bare(base: Encoder, *, name: str) -> Encoder:
    """A copy of the encoder with nothing on top; the base is untouched."""
    model = copy.deepcopy(base.model.base_model).eval()
    if hasattr(model, PARSER):
        delattr(model, PARSER)
    model.config.bertscope = encoder_notes_in(model.config) | {"name": name, "tuned_on": None}
    return Encoder(model, base.tokenizer, name, base.family, "none")


def with_random_weights(base: Encoder, seed: int = 0) -> Encoder:
    """The encoder as it would be before any training: the same architecture and tokenizer, all weights drawn anew."""
    return with_classifier(base, (), init="random", seed=seed, name=f"{base.name} (random init)")
