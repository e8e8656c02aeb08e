"""Planning a question that is asked in shards: which steps it takes. Loads no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bertscope.analyses.shards.division import division
from bertscope.analyses.shards.sums import SumsConfig, sums
from bertscope.core import config as configs
from bertscope.core.errors import UserError
from bertscope.core.limits import MOST_STEPS
from bertscope.core.question import Question
from bertscope.core.step import Root, Step


def in_shards(
    question: Question,
    named: Sequence[Step | Root],
    corpus: Root,
    config: Any,
    beside: Mapping[str, Step | Root],
    shards: int,
) -> Step:
    """The step that adds up the question's sums over so many shards of a corpus."""
    if not 1 <= shards < MOST_STEPS:
        raise UserError(f"shards is {shards}; give a number from 1 to {MOST_STEPS - 1:,}")
    if beside:
        raise UserError(f"{question.name} in shards takes no --{next(iter(beside)).partition('.')[0]}; leave it out")
    models = {f"models.{place}": model for place, model in enumerate(named)}
    read = models | {"corpus": corpus, "division": division.step({"corpus": corpus})}
    asked: dict[str, Any] = {
        "question": question.name,
        "version": question.version,
        "settings": configs.to_json(config),
    }
    kept = {
        f"sums.{place}": sums.step(read, SumsConfig(**asked, shard=place + 1, total=shards))
        for place in range(shards)
    }
    return question.step(_as_asked(question, named) | kept, config)


def _as_asked(question: Question, named: Sequence[Step | Root]) -> dict[str, Step | Root]:
    names = question.named
    if question.takes_several:
        names = [f"{names[0]}.{place}" for place in range(len(named))]
    return dict(zip(names, named, strict=True))
