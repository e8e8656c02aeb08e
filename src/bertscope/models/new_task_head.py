"""A copy of an encoder under a class of the library that has something new on top."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Literal

import torch

from bertscope.models.config_notes import encoder_notes_in
from bertscope.models.encoder import Encoder
from bertscope.models.surgery import reshape


def with_new_task_head(
    base: Encoder,
    build: Callable[[Any], Any],
    *,
    init: Literal["pretrained", "random"] = "pretrained",
    seed: int = 0,
    name: str | None = None,
    tuned_on: str | None = None,
) -> Any:
    """What `build` makes of a copy of the base's config, with the base's weights below what is new.

    `init="random"` leaves all weights as they were drawn. The same seed draws the same. `name` and the task's
    fingerprint `tuned_on` travel with the model, inside its config; what was on top of the base doesn't.
    """
    config = copy.deepcopy(base.model.config)
    noted = encoder_notes_in(config)
    config.bertscope = noted | {"name": name or base.name, "tuned_on": tuned_on}
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
    return model.eval().to(base.device)
