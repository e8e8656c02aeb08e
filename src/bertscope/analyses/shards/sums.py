"""`sums`: what a question keeps of one shard of a corpus. A step of any question that is asked in shards.

A shard is read a window at a time, each by a reader of its own, whose sums are added to those before: memory depends
on the window, not on the shard. The same is done with the shards in the end (`adding.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertscope.core import config as configs
from bertscope.core import registry
from bertscope.core.config import check_least
from bertscope.core.number import Number
from bertscope.core.question import MODELS, Input, Question

if TYPE_CHECKING:
    from bertscope.core.result import Result
    from bertscope.core.sums import Sums
    from bertscope.data.division import Division
    from bertscope.data.streamed import StreamedTexts
    from bertscope.models.encoder import Encoder


@dataclass(frozen=True)
class SumsConfig:
    """Of which question, and of which shard."""

    question: str = ""
    """Its name."""
    version: int = 0
    """Its version."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Its settings."""
    shard: int = 1
    """Which shard, from 1."""
    total: int = 1
    """How many there are."""

    def __post_init__(self) -> None:
        check_least(self, shard=1, total=self.shard)


sums = Question(
    __name__,
    """Some whole windows of the texts are read, and what the question's reader adds up over texts is kept: counts,
    sums in the sample itself and in each resample, and the maps to look at. A text's weight in a resample is a hash
    of its id, so the sums of all shards, added, are those of one pass. Of a question about hidden states, these.""",
    config=SumsConfig,
    inputs={"models": MODELS, "corpus": Input("corpus"), "division": Input("division")},
    optional={"survey": Input("survey")},
    version=1,
    main="texts",
    cite="Chamandy et al. 2012, Estimating Uncertainty for Massive Data Streams",
    keeps="sums",
    numbers={"texts": "texts in this shard"},
)


@dataclass(frozen=True)
class Summed:
    result: Result


def measure(
    models: Sequence[Encoder],
    corpus: StreamedTexts,
    division: Division,
    config: SumsConfig,
    *,
    survey: Sums | None = None,
    out: Path,
    resume: bool = True,
) -> Summed:
    from bertscope.analyses.shards.adding import gather
    from bertscope.analyses.shards.joining import keep_states
    from bertscope.core.model_record import records

    question = registry.find(config.question)
    settings: Any = configs.from_json(question.config, config.settings)
    windows = division.windows(config.shard, config.total)
    if question.sharding == "states":
        texts = keep_states(question, settings, models[0], corpus, division, windows, out, resume)
    else:
        told = f"shard {config.shard} of {config.total}"
        found = gather(question, settings, models, corpus, division, windows, survey, told)
        found.save(out)
        texts = found.facts["texts"]
    shard = {"task": division.name, "question": config.question, "shard": f"{config.shard} of {config.total}"}
    return Summed(sums.result(headline=[Number("texts", texts)], models=records([*models]), subject=shard))
