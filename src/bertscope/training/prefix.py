"""Frozen layers, run once: what they put out for every token of the training set is kept, and every epoch reads it.

A frozen layer without dropout over frozen layers without dropout gives the same for the same text, whatever is
trained above. So one pass over the training set, in an order that depends on its lengths alone, serves the whole
training; a training that was killed makes the same pass again.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bertscope.models.batches import Batch, Tokens, group_by_budget, pad
from bertscope.models.encoder import Encoder
from bertscope.models.observe import default_budget
from bertscope.models.replay import stand_in

_IN_MEMORY = 2 * 2**30  # bytes; more goes to a file
_FREE = 1.2  # so much of what is needed must be free on the disk


class Prefix:
    """What the first `depth` layers put out for each token of some texts [token, hidden]."""

    def __init__(self, encoder: Encoder, tokens: Tokens, depth: int, states: Tensor) -> None:
        self._encoder, self._tokens, self._states = encoder, tokens, states
        self._blocks = dict.fromkeys(encoder.layers[:depth])  # a shared one once

    @classmethod
    def of(cls, encoder: Encoder, tokens: Tokens, depth: int, folder: Path | None) -> Prefix | None:
        """Run the layers once; None where there are none, or no room for what they put out. `folder` is where a file
        may lie if it is too much for memory."""
        states = _room(encoder, tokens, folder) if depth else None
        if states is None:
            return None
        prefix = cls(encoder, tokens, depth, states)
        prefix._fill()
        return prefix

    @contextmanager
    def instead(self, batch: Batch, kept: Tensor | None = None) -> Iterator[None]:
        """In a pass over this very batch, let the layers return what is kept, which may be `gathered` already. Any
        other pass computes them: a loss may have texts of its own."""
        kept = self.gathered(batch) if kept is None else kept
        ids, base = batch.inputs["input_ids"], self._encoder.model.base_model
        known = False

        def look(module: Any, args: tuple, kwargs: dict[str, Any]) -> None:
            nonlocal known
            known = (args[0] if args else kwargs.get("input_ids")) is ids

        def returning(compute: Callable[..., Any]) -> Callable[..., Any]:
            return lambda *args, **kwargs: self._given(kept) if known else compute(*args, **kwargs)

        with ExitStack() as undo:
            undo.callback(base.register_forward_pre_hook(look, with_kwargs=True).remove)
            for block in self._blocks:
                stand_in(block, returning(block.forward), undo)
            yield

    def _given(self, states: Tensor) -> Any:
        """Blocks of the hooked families return their attention beside their output."""
        return (states, None) if self._encoder.family.hooked else states

    def _places(self, rows: np.ndarray, length: int) -> tuple[Tensor, Tensor]:
        """[row, place]: which token of all stands there, and whether one does."""
        lengths = self._tokens.lengths[rows]
        place = np.arange(length)
        real = place < lengths[:, None]
        at = np.where(real, self._tokens.starts[rows][:, None] + place, 0)
        return torch.from_numpy(at).to(self._states.device), torch.from_numpy(real).to(self._states.device)

    def gathered(self, batch: Batch) -> Tensor:
        """[row, token, hidden]: what the layers put out for a batch, 0 for padding."""
        at, real = self._places(batch.rows, batch.special.shape[1])
        return (self._states[at] * real[..., None]).to(self._encoder.device)

    @torch.no_grad()
    def _fill(self) -> None:
        encoder, model = self._encoder, self._encoder.model
        *_, last = self._blocks
        found: dict[str, Tensor] = {}

        def keep(module: Any, args: Any, output: Any) -> None:
            found["states"] = output[0] if isinstance(output, tuple) else output

        def passing(*args: Any, **kwargs: Any) -> Any:
            return self._given(args[0] if args else kwargs["hidden_states"])

        model.eval()
        with ExitStack() as undo:
            undo.callback(last.register_forward_hook(keep).remove)
            for block in encoder.layers:
                if block not in self._blocks:  # nothing above is needed
                    stand_in(block, passing, undo)
            for rows in group_by_budget(self._tokens.lengths, default_budget(encoder)):
                pad_id = encoder.tokenizer.pad_token_id or 0
                batch = pad(self._tokens, rows, pad_id=pad_id, device=encoder.device)
                model.base_model(**batch.inputs)
                at, real = self._places(rows, batch.special.shape[1])
                states = found["states"].to(self._states.device, self._states.dtype)
                self._states[at[real]] = states[real]


def _room(encoder: Encoder, tokens: Tokens, folder: Path | None) -> Tensor | None:
    """An array beside the model, or in a file where it is too large; None where the disk has no room either."""
    like = next(encoder.model.parameters())
    shape = (int(tokens.lengths.sum()), encoder.hidden_size)
    count = shape[0] * shape[1]
    if (size := count * like.element_size()) <= _IN_MEMORY:
        return torch.empty(shape, dtype=like.dtype, device=like.device)
    where = folder or Path(tempfile.gettempdir())
    if shutil.disk_usage(where).free < _FREE * size:
        return None
    with tempfile.NamedTemporaryFile(dir=where) as file:  # its name goes at once, its pages with the array
        return torch.from_file(file.name, shared=True, size=count, dtype=like.dtype).view(shape)
