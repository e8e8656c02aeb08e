"""`masked-words`: a window of texts after the other, and what is added up over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from bertscope.analyses.masked_words.question import MaskedWordsConfig
from bertscope.analyses.masked_words.result import masked_words_result
from bertscope.analyses.side_by_side import subject
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.model_record import by_key
from bertscope.core.progress import progress
from bertscope.core.resampling import Resampling, RunningMean
from bertscope.core.result import Result
from bertscope.core.sums import Sums
from bertscope.data.metrics import METRICS
from bertscope.data.outputs.masked_words import MaskedWords
from bertscope.models.batches import WINDOW
from bertscope.models.encoder import Encoder
from bertscope.models.observe import Passed

READ = "read"
"""The sum that counts texts in which something is masked that the model reads."""


def measure(models: Sequence[Encoder], examples: Examples, config: MaskedWordsConfig) -> Result:
    mine = part(models, examples, config)
    return mine.finish(mine.read(mine.encoders, mine.reader))


def part(models: Sequence[Encoder], examples: Examples, config: MaskedWordsConfig) -> GuessPart:
    checkpoints = by_key(models)
    if not checkpoints:
        raise UserError("no model is given; name one, or give one")
    output = MaskedWords.of(examples.name or "these texts", (), METRICS[MaskedWords.kind][0])
    for one in models:
        one.need(output)
    reader = GuessReader(output, examples, len(checkpoints), config)
    finish = partial(
        masked_words_result,
        reader,
        models={key: one.record for key, one in checkpoints.items()},
        subject=subject(examples),
        notes=examples.notes,
    )
    return GuessPart([*checkpoints.values()], examples, reader, finish)


@dataclass(frozen=True, eq=False)
class GuessPart:
    """What is asked of some texts, ready to be read."""

    encoders: Sequence[Encoder]
    examples: Examples
    reader: GuessReader
    finish: Callable[[Passed], Result]

    def read(self, encoders: Sequence[Encoder], reader: GuessReader) -> Passed:
        """A window at a time: memory depends on it, and what is in a batch does too."""
        n, truncated = len(self.examples), 0
        with progress("guessing", n) as bar:
            for start in range(0, n, WINDOW):
                rows = np.arange(start, min(start + WINDOW, n))
                truncated += max([reader.add(at, one, rows) for at, one in enumerate(encoders)])
                bar.advance(len(rows))
        return Passed(n, truncated)


class GuessReader:
    """Sums over texts, of each encoder."""

    def __init__(self, output: MaskedWords, examples: Examples, encoders: int, config: MaskedWordsConfig) -> None:
        self._output, self._examples = output, examples
        resampling = Resampling(examples.ids, repeats=config.repeats, seed=config.seed)
        self.means = [RunningMean(resampling) for _ in range(encoders)]
        """Of each encoder [(pieces guessed, bits)], over masked pieces."""
        self.texts = np.zeros(encoders, np.int64)
        """Of each encoder: in how many texts something is masked that it reads."""

    def add(self, at: int, encoder: Encoder, rows: np.ndarray) -> int:
        """Let an encoder guess; returns how many of the texts are longer than it reads."""
        texts = encoder.marked(self._output, self._examples.take(rows))
        gold = self._output.gold(texts)
        said = encoder.predict(texts, self._output)
        right, pieces = np.moveaxis(self._output.moments(said.logits, gold), -1, 0)
        bits = self._output.bits(said.logits, gold)
        self.means[at].add(rows, np.stack([right, bits], 1), pieces)
        self.texts[at] += int((pieces > 0).sum())
        return said.truncated

    def sums(self, first: int = 0) -> Sums:
        parts = {f"means.{at}": mean.sums() for at, mean in enumerate(self.means)}
        return Sums.of(parts | {READ: Sums({"texts": self.texts})})

    def merge(self, other: Sums) -> None:
        for at, mean in enumerate(self.means):
            mean.merge(other.part(f"means.{at}"))
        self.texts = self.texts + other.part(READ).arrays["texts"]
