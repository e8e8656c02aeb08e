"""Word attributions by captum in a plain loop over texts, as one would write it with care: embeddings are made once,
the points of one text are one batch."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import torch
from torch import Tensor

_DRAWS = {
    "matplotlib": ("axes", "collections", "colors", "figure", "image", "pyplot"),
    "mpl_toolkits": ("axes_grid1",),
    "PIL": ("Image",),
}
"""Libraries that captum imports to draw, and of each what it imports."""


def find_captum(folder: Path | None = None) -> ModuleType | None:
    """captum's `attr`, also from a folder that isn't on the path; None where it isn't there. It imports drawing
    libraries that no attribution needs: where they aren't installed, something stands in their place meanwhile."""
    if folder is not None:
        sys.path.append(str(folder))
    missing = [name for name in _DRAWS if find_spec(name) is None]
    absent = [*missing, *(f"{name}.{part}" for name in missing for part in _DRAWS[name])]
    try:
        sys.modules.update({name: MagicMock() for name in absent})
        with suppress(ImportError):
            return import_module("captum.attr")
        return None
    finally:
        for name in absent:
            del sys.modules[name]
        if folder is not None:
            sys.path.remove(str(folder))


def integrated(attr: ModuleType, model: Any, tokenizer: Any, texts: Sequence[str], nodes: int) -> np.ndarray:
    """[word]: integrated gradients of each text's words for the label that is predicted, its logit minus the mean of
    the others', from the text with every word masked; texts end to end."""
    device, embeddings = model.device, model.get_input_embeddings()
    mask = embeddings(torch.tensor(tokenizer.mask_token_id, device=device)).detach()

    def margin(embedded: Tensor, label: int) -> Tensor:
        logits = model(inputs_embeds=embedded).logits
        own = logits[:, label]
        return own - (logits.sum(1) - own) / (logits.shape[1] - 1)

    found = []
    for text in texts:
        coded = tokenizer(text, truncation=True, max_length=model.config.max_position_embeddings, return_tensors="pt")
        with torch.no_grad():
            own = embeddings(coded.input_ids.to(device))
            label = int(model(inputs_embeds=own).logits.argmax())
        words = [word for word in coded.word_ids() if word is not None]
        inside = torch.tensor([word is not None for word in coded.word_ids()], device=device)
        masked = torch.where(inside[None, :, None], mask, own)
        given = attr.IntegratedGradients(margin).attribute(
            own, masked, additional_forward_args=(label,), n_steps=nodes, method="gausslegendre"
        )
        found.append(np.bincount(words, given.sum(-1)[0, inside].double().cpu().numpy()))
    return np.concatenate(found)
