"""`survey`: what a question has to know of a whole corpus before any shard of it can be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertscope.core import config as configs
from bertscope.core import registry
from bertscope.core.number import Number
from bertscope.core.question import MODELS, Input, Question

if TYPE_CHECKING:
    from bertscope.core.result import Result
    from bertscope.data.division import Division
    from bertscope.data.streamed import StreamedTexts
    from bertscope.models.encoder import Encoder


@dataclass(frozen=True)
class SurveyConfig:
    """Of which question."""

    question: str = ""
    """Its name."""
    version: int = 0
    """Its version."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Its settings."""


survey = Question(
    __name__,
    """All texts are gone through once, without a model, and what a shard can't know of the others is kept: of
    `relations` their names, and the control pairs of the sentences in which these are looked for.""",
    config=SurveyConfig,
    inputs={"models": MODELS, "corpus": Input("corpus"), "division": Input("division")},
    version=1,
    main="texts",
    cite="none: a count",
    keeps="survey",
    numbers={"texts": "texts"},
)


@dataclass(frozen=True)
class Surveyed:
    result: Result


def measure(
    models: Sequence[Encoder],
    corpus: StreamedTexts,
    division: Division,
    config: SurveyConfig,
    *,
    out: Path,
    resume: bool = True,
) -> Surveyed:
    question = registry.find(config.question)
    settings: Any = configs.from_json(question.config, config.settings)
    windows = corpus.read(division, range(len(division.places)))
    question.function("survey")(models, windows, settings).save(out, survey.keeps)
    about = {"task": division.name, "question": config.question}
    return Surveyed(survey.result(headline=[Number("texts", division.texts)], subject=about))
