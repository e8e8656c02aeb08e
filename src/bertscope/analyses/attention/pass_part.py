"""Questions about attention that are asked together: one pass of the encoders answers them all.

A question makes its part in a pass ready (`PassPart`). Alone, it gets a pass of its own. Where several read the same
texts by the same tokenizer, their readers share one: batches, maps and so the answers are the same to the last digit.
Where they are about many models, such as a training's checkpoints, each window of texts is read by one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from bertscope.analyses.attention.maps import LayerMaps, MapReader, read_maps, read_maps_in_turns
from bertscope.analyses.attention.view import View
from bertscope.core.examples import Examples
from bertscope.core.result import Result
from bertscope.models.batches import WINDOW, tokenise
from bertscope.models.encoder import Encoder
from bertscope.models.observe import Passed
from bertscope.models.stage import Stage

TOGETHER = 2
"""Encoders that see each batch side by side. More read each window in turn, in the memory of those on their turn."""


@dataclass(frozen=True, eq=False)
class PassPart:
    """A question's part in a pass over attention, ready to be read."""

    encoders: Sequence[Encoder]
    examples: Examples
    reader: MapReader
    finish: Callable[[Passed], Result]
    """What to make of what the reader kept."""
    weighted: bool = False
    long: Literal["truncated", "left_out"] = "truncated"

    def alone(self) -> Result:
        """The answer, by a pass of its own."""
        return self.finish(self.read(self.encoders, self.reader))

    def read(self, encoders: Sequence[Encoder], *readers: MapReader) -> Passed:
        return read_maps(encoders, self.examples, readers, weighted=self.weighted, long=self.long)

    @cached_property
    def _sees(self) -> tuple[Any, ...]:
        """What decides the batches and what of them is shown, the texts excepted."""
        return self.weighted, {
            (one.tokenizer_digest, *one.tokenizer.model_input_names, one.n_layers, one.device)
            for one in self.encoders
        }

    def agrees(self, other: PassPart) -> bool:
        """Whether both would see the same batches."""
        same = self._sees == other._sees and len(self._sees[1]) == 1 and _texts(self) == _texts(other)
        return same and (self.long == other.long or not self._has_long)

    @cached_property
    def _has_long(self) -> bool:
        """Whether some text is longer than the encoders read. The tokenizer takes little of a pass's time."""
        first, n = self.encoders[0], len(self.examples)
        windows = (range(start, min(start + WINDOW, n)) for start in range(0, n, WINDOW))
        return any(
            tokenise(first.tokenizer, self.examples.take(window), first.max_length).truncated.any()
            for window in windows
        )


def _texts(part: PassPart) -> tuple[Any, ...]:
    """All of the examples that a batch shows."""
    examples = part.examples
    return examples.ids, examples.text, examples.pair, examples.words, examples.first_words


def sharing(parts: Sequence[PassPart]) -> list[list[int]]:
    """Which of the parts can share a pass, by their places."""
    groups: list[list[int]] = []
    for place, part in enumerate(parts):
        for group in groups:
            if all(part.agrees(parts[other]) for other in group):
                group.append(place)
                break
        else:
            groups.append([place])
    return groups


def read_together(parts: Sequence[PassPart], stage: Stage | None = None) -> Passed:
    """One pass for parts that agree: over each of their encoders once, where there are few or no stage, otherwise in
    turns."""
    encoders = _union(parts)
    if stage is None or len(encoders) <= TOGETHER:
        return parts[0].read(encoders, *_readers(parts, encoders))
    turns = [(_union(turn), _readers(turn, _union(turn))) for turn in _turns(parts)]
    first = parts[0]
    return read_maps_in_turns(turns, first.examples, stage, weighted=first.weighted, long=first.long)


def _readers(parts: Sequence[PassPart], encoders: Sequence[Encoder]) -> list[SubsetReader]:
    place = {id(encoder): at for at, encoder in enumerate(encoders)}
    return [SubsetReader(one.reader, [place[id(encoder)] for encoder in one.encoders]) for one in parts]


def _turns(parts: Sequence[PassPart]) -> list[list[PassPart]]:
    """The parts in turns: those with most encoders have one each, and others join one that has theirs."""
    turns: list[list[PassPart]] = []
    for part in sorted(parts, key=lambda one: -len(one.encoders)):
        own = {id(encoder) for encoder in part.encoders}
        with_them = (turn for turn in turns if own <= {id(encoder) for encoder in _union(turn)})
        joined = next(with_them, None)
        if joined is None:
            turns.append([part])
        else:
            joined.append(part)
    return turns


def _union(parts: Sequence[PassPart]) -> list[Encoder]:
    return list({id(encoder): encoder for one in parts for encoder in one.encoders}.values())


class SubsetReader:
    """A reader that is shown its own encoders of all those in the pass."""

    def __init__(self, reader: MapReader, places: Sequence[int]) -> None:
        self._reader, self._places, self.needs = reader, places, reader.needs

    def read(self, layer: int, view: View, maps: Sequence[LayerMaps]) -> None:
        self._reader.read(layer, view, [maps[place] for place in self._places])
