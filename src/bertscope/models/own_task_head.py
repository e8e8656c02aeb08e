"""A copy of an encoder with the task head that it has: as it is, or with all weights drawn anew."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import torch

from bertscope.core.model_record import Origin
from bertscope.models.classifier_form import ClassifierForm
from bertscope.models.config_notes import PARSER, notes_in, origin_note
from bertscope.models.new_task_head import bare, with_new_task_head
from bertscope.models.parser import with_parser

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


def with_own_task_head(
    base: Encoder,
    *,
    init: Literal["pretrained", "random"] = "pretrained",
    seed: int = 0,
    name: str | None = None,
    origin: Origin | None = None,
) -> Encoder:
    """A copy of the encoder with what is on top of it now; with `init="random"` all weights are drawn anew, those of
    the task head too."""
    name, origin = name or base.name, origin or Origin("copy", base.record, seed=seed, init=init)
    if init == "pretrained":
        model = copy.deepcopy(base.model).eval()
        model.config.bertscope = notes_in(model.config) | {"name": name} | origin_note(origin)
        return replace(base, model=model, name=name)
    how: dict[str, Any] = {"init": init, "seed": seed, "name": name, "origin": origin}
    if base.task_head == "parser":
        return with_parser(base, base.labels, **how)
    form = ClassifierForm.of(base.model.config)

    def build(config: Any) -> Any:
        form.write_down(config)
        model = type(base.model)._from_config(config, dtype=torch.float32)
        form.put_on(model, base.family)
        return model

    return with_new_task_head(base, base.task_head, build, **how)


def as_embedder(base: Encoder, **how: Any) -> Encoder:
    """A copy of the encoder with nothing on top, to make vectors of texts; `how` as for `with_own_task_head`."""
    model = base.model.base_model
    if hasattr(model, PARSER):
        model = bare(base, name=base.name).model
    return with_own_task_head(replace(base, model=model, task_head="none"), **how)
