"""A batch as the readers of attention see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from bertscope.models.batches import Batch, SentBatch
from bertscope.models.sending import sent

Computed = TypeVar("Computed")


@dataclass(frozen=True)
class View:
    """A batch as the readers see it."""

    rows: np.ndarray
    """The examples' positions in the corpus."""
    real: Tensor
    """[row, token]: not padding."""
    added: Tensor
    """[row, token]: a special token that the tokenizer added, [CLS] or [SEP]."""
    words: Tensor
    """[row, token]: the token's word, -1 where it belongs to none."""
    segments: Tensor
    """[row, token]: which text of a pair the token is in, 0 or 1; 0 for special tokens and padding."""
    n_layers: int = 1
    """How many layers are shown."""
    on_cpu: View | None = None
    """The same on the CPU, where the batch is elsewhere and that is known."""
    _computed: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, batch: Batch, n_layers: int) -> View:
        real = batch.inputs["attention_mask"].bool()
        host = cls.of(batch.host, n_layers) if isinstance(batch, SentBatch) else None
        return cls(batch.rows, real, batch.added, batch.words, batch.segments, n_layers, host)

    @cached_property
    def host(self) -> View:
        """The same on the CPU: what is asked there waits for no device."""
        if self.real.device.type == "cpu":
            return self
        if self.on_cpu is not None:
            return self.on_cpu
        real, added, words, segments = (one.cpu() for one in (self.real, self.added, self.words, self.segments))
        return View(self.rows, real, added, words, segments, self.n_layers)

    def send(self, values: np.ndarray) -> Tensor:
        """The same where the batch is."""
        return sent(values, self.real.device)

    def once(self, compute: Callable[..., Computed], *more: Any) -> Computed:
        """What `compute` computes of this batch: for all layers and encoders once."""
        if (compute, *more) not in self._computed:
            self._computed[compute, *more] = compute(self, *more)
        return self._computed[compute, *more]

    @cached_property
    def lengths(self) -> Tensor:
        """[row]: real tokens, as a number to divide by."""
        return self.real.sum(1).float()

    @cached_property
    def cls(self) -> Tensor:
        """[row, token]: the token that opens the input, [CLS] or what the family calls it."""
        return self.added & (self._place == 0)

    @cached_property
    def sep(self) -> Tensor:
        """[row, token]: the special tokens that close a text, [SEP] or what the family calls them."""
        return self.added & (self._place > 0)

    @cached_property
    def _place(self) -> Tensor:
        return torch.arange(self.real.shape[1], device=self.real.device)

    @cached_property
    def distances(self) -> Tensor:
        """[query x key]: how many tokens lie between."""
        place = self._place.float()
        return (place[:, None] - place).abs().flatten()

    @cached_property
    def padding(self) -> tuple[Tensor, ...]:
        """The rows and places of padded tokens."""
        return tuple(map(self.send, np.nonzero(~self.host.real.numpy())))

    @cached_property
    def word_count(self) -> int:
        """One more than the highest number of a word in the batch; at least one, also where no text has a word."""
        return max(1, int(self.host.words.max()) + 1)

    @cached_property
    def word_tokens(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows and places of tokens that belong to a word, row by row."""
        row, place = np.nonzero(self.host.words.numpy() >= 0)
        return row, place

    @cached_property
    def shown_words(self) -> np.ndarray:
        """[row, word]: whether any token shows it."""
        found = np.zeros((len(self.rows), self.word_count), dtype=bool)
        row, place = self.word_tokens
        found[row, self.host.words.numpy()[row, place]] = True
        return found

    @cached_property
    def in_word(self) -> Tensor:
        """[row, token, word]: 1 where the token is a piece of the word, else 0."""
        number = torch.arange(self.word_count, device=self.words.device)
        return (self.words[..., None] == number).float()

    @cached_property
    def pieces(self) -> Tensor:
        """[row, word]: how many tokens the word has; 0 where the example has no such word, or no token shows it."""
        return self.in_word.sum(1)
