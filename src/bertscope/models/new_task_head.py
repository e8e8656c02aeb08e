"""A new task head on a copy of an encoder: what fine-tuning starts from."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import torch
import transformers

from bertscope.core.model_record import Origin
from bertscope.models.classifier_form import ClassifierForm, set_dropout
from bertscope.models.config_notes import PARSER, encoder_notes_in, origin_note
from bertscope.models.surgery import reshape

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder, TaskHead


def with_new_task_head(
    base: Encoder,
    task_head: TaskHead,
    build: Callable[[Any], Any],
    *,
    init: Literal["pretrained", "random"] = "pretrained",
    seed: int = 0,
    name: str | None = None,
    origin: Origin | None = None,
) -> Encoder:
    """What `build` makes of a copy of the base's config, with the base's weights below what is new.

    `init="random"` leaves all weights as they were drawn. The same seed draws the same. `name` and
    `origin`, which says how it comes about, travel with the model, inside its config; what was on top of the base
    doesn't.
    """
    config = copy.deepcopy(base.model.config)
    noted = encoder_notes_in(config)
    name = name or base.name
    config.bertscope = (
        noted | {"name": name} | origin_note(origin or Origin("new", base.record, seed=seed, init=init))
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = build(config)
    if "shape" in noted:  # a cut encoder stays cut
        reshape(model, base.family, base.head_size, noted["shape"])
    if init == "pretrained":
        # Not strict: neither a pooler nor an old parser need be the same.
        missing, _ = model.base_model.load_state_dict(base.model.base_model.state_dict(), strict=False)
        if foreign := [key for key in missing if not key.startswith("pooler")]:
            raise ValueError(f"{base.name} lacks {foreign}, which a {type(model).__name__} needs")
    return replace(base, model=model.eval().to(base.device), name=name, task_head=task_head)


def with_classifier(
    base: Encoder,
    labels: tuple[str, ...],
    *,
    several: bool = False,
    form: ClassifierForm = ClassifierForm(),  # noqa: B008 (frozen)
    dropout: float | None = None,
    **how: Any,
) -> Encoder:
    """A copy of the encoder with a new classifier on top, or a regressor where `labels` is empty; a text may have
    `several` labels.

    `form` is the classifier's form, `dropout` what is dropped before it, if not as much as the family does; `how` as
    for `with_new_task_head`. With `init="random"` it is the control for what pre-training gave.
    """

    def build(config: Any) -> Any:
        one = "single_label_classification" if labels else "regression"
        config.problem_type = "multi_label_classification" if several else one
        config.id2label = dict(enumerate(labels or ("score",)))
        config.label2id = {label: index for index, label in config.id2label.items()}
        form.write_down(config)
        if dropout is not None:
            set_dropout(config, base.family, dropout)
        model = transformers.AutoModelForSequenceClassification.from_config(config, dtype=torch.float32)
        form.put_on(model, base.family)
        return model

    return with_new_task_head(base, "classifier", build, **how)


def bare(base: Encoder, *, name: str, origin: Origin | None = None) -> Encoder:
    """A copy of the encoder with nothing on top, as which a training begins; the base is untouched."""
    model = copy.deepcopy(base.model.base_model).eval()
    if hasattr(model, PARSER):
        delattr(model, PARSER)
    model.config.bertscope = (
        encoder_notes_in(model.config) | {"name": name} | origin_note(origin or Origin("bare", base.record))
    )
    return replace(base, model=model, name=name, task_head="none")


def with_random_weights(base: Encoder, seed: int = 0, *, classifier: bool = False) -> Encoder:
    """The encoder as it would be before any training: the same architecture and tokenizer, all weights drawn anew.
    With `classifier` the base's own task head stays on it, its weights drawn anew too."""
    drawn = Origin("random", base.record, seed=seed, init="random")
    how: dict[str, Any] = {"init": "random", "seed": seed, "name": f"{base.name} (random init)", "origin": drawn}
    if classifier and base.task_head in ("span-qa", "multiple-choice"):
        return with_new_task_head(base, base.task_head, type(base.model), **how)
    labels, form = (base.labels, ClassifierForm.of(base.model.config)) if classifier else ((), ClassifierForm())
    several = classifier and base.model.config.problem_type == "multi_label_classification"
    return with_classifier(base, labels, several=several, form=form, **how)
