"""What an explorer tells, set beside what the library gives in its plain way: gates open, the whole model run."""

from __future__ import annotations

import copy
import zlib
from base64 import b64decode
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch

from bertscope.core.examples import Examples
from bertscope.live.messages import Maps, Prediction
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from bertscope.models.means import Means
from bertscope.models.observe import Seen, observe


def another(encoder: Encoder, size: float = 0.05) -> Encoder:
    """The same model with other weights."""
    model = copy.deepcopy(encoder.model)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(size * torch.randn(parameter.shape, generator=generator).to(parameter))
    return load(model, tokenizer=encoder.tokenizer)


def with_layers_of(encoder: Encoder, other: Encoder, layers: list[int]) -> Encoder:
    """A copy that has another's weights in these layers (0-based) for good."""
    made = load(copy.deepcopy(encoder.model), tokenizer=encoder.tokenizer)
    with torch.no_grad():
        for layer in layers:
            lent = dict(other.layers[layer].named_parameters())
            for name, parameter in made.layers[layer].named_parameters():
                parameter.copy_(lent[name])
    return made


def said(encoder: Encoder, examples: Examples, output: Any, off: list[str], mode: str, means: Means | None) -> Any:
    """What the library says of one example, as it keeps it."""
    with ExitStack() as opened:
        if off:
            reference = means if mode == "mean" else None
            opened.enter_context(encoder.gates(off=off, mode=mode, reference=reference))
        return encoder.predict(examples, output)


def numbers(found: Prediction) -> dict[str, float]:
    """Every number that a prediction holds, by what it is of."""
    told = {"p": found.p, **{f"share {one.label}": one.p for one in found.shares}}
    told |= {f"value {one.label}": one.value for one in found.shares}
    told |= {f"mark {one.start} {one.label}": one.p for one in found.marks}
    told |= {f"guess {each.token} {one.label}": one.p for each in found.guesses for one in each.words}
    return {name: value for name, value in told.items() if value is not None}


def unpacked(maps: Maps, heads: int, tokens: int) -> np.ndarray:
    """[head, query, key], as the page reads them."""
    body = np.frombuffer(zlib.decompress(b64decode(maps.levels), -zlib.MAX_WBITS), np.uint8).astype(np.int64)
    levels = body.reshape(2, -1)[0] * 256 + body.reshape(2, -1)[1] if maps.wide else body
    return levels.reshape(heads, tokens, tokens).swapaxes(1, 2) * maps.step


def plain_maps(encoder: Encoder, examples: Examples, off: list[str], mode: str = "zero") -> list[np.ndarray]:
    """Each layer's maps [head, query, key] of one text, of the whole model with parts off."""
    found: list[np.ndarray] = []

    class Keep:
        needs = frozenset({"maps"})

        def update(self, batch: Any, seen: list[Seen]) -> None:
            found.extend(maps[0].cpu().numpy() for maps in seen[0].maps)

    with encoder.gates(off=off, mode=mode):
        observe([encoder], examples, [Keep()])
    return found


def is_untouched(encoder: Encoder) -> bool:
    """Whether no hook, no tap and no forward of ours is left on it."""
    modules = list(encoder.model.modules())
    hooks = sum(len(one._forward_hooks) + len(one._forward_pre_hooks) for one in modules)
    ours = [one for one in modules if "forward" in vars(one) or hasattr(one, "_bertscope_run")]
    return not hooks and not ours and encoder.model.config._attn_implementation != "bertscope"
