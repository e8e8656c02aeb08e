"""Hidden states in shards: each keeps its own array, and who looks at them reads over all of these as over one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bertscope.core.examples import Examples
from bertscope.core.question import Question
from bertscope.core.sums import Sums
from bertscope.data.division import Division
from bertscope.data.streamed import StreamedTexts
from bertscope.models.encoder import Encoder
from bertscope.models.states_store import StatesStore, holds_states


def keep_states(
    question: Question, config: Any, model: Encoder, corpus: StreamedTexts, division: Division, windows: range,
    out: Path, resume: bool,
) -> int:  # fmt: skip
    """Keep the states of some windows of texts, and say how many texts these are. The texts are held, which is little
    beside their states on the disk."""
    if not windows:
        Sums().save(out)  # there are more shards than windows
        return 0
    texts = corpus.whole(division, windows)
    return len(question.function("shard")(model, texts, config, out=out, resume=resume).ids)


def read_over(question: Question, opened: Mapping[str, Any]) -> Any:
    """The answer from the states of all shards. Texts are read again, a window at a time, to know which words these
    are of."""
    corpus, division = opened["corpus"], opened["division"]
    about = Examples((), (), name=division.name, notes=division.notes)

    def windows() -> Iterator[tuple[int, Examples]]:
        return corpus.read(division, range(len(division.places)))

    kept = {name: opened[name] for name in ("out", "resume") if name in opened}
    shards = _by_model(opened["sums"], division.texts)
    return question.function("of_shards")(shards, about, windows, opened["config"], **kept)


def _by_model(folders: Sequence[Path], texts: int) -> list[list[StatesStore]]:
    """The shards of each model: they come model by model, and a model's have all texts of the corpus."""
    found: list[list[StatesStore]] = [[]]
    for folder in filter(holds_states, folders):
        if sum(len(one.ids) for one in found[-1]) == texts:
            found.append([])
        found[-1].append(StatesStore.open(folder))
    return found
