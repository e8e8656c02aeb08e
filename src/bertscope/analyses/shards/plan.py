"""Planning a question that is asked in shards: which steps it takes. Loads no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bertscope.analyses.shards.division import division
from bertscope.analyses.shards.sums import SumsConfig, sums
from bertscope.analyses.shards.survey import SurveyConfig, survey
from bertscope.analyses.states.question import StatesConfig, states
from bertscope.core import config as configs
from bertscope.core.errors import UserError
from bertscope.core.question import Question
from bertscope.core.shard_count import Shards, count_of
from bertscope.core.step import Root, Step
from bertscope.data.corpus import open_streamed

Inputs = dict[str, Step | Root]


def in_shards(
    question: Question,
    named: Sequence[Step | Root],
    corpus: Root,
    config: Any,
    beside: Mapping[str, Step | Root],
    shards: Shards,
) -> Step:
    """The step that puts together what the question keeps of so many shards of a corpus, or of shards of such a
    size."""
    if isinstance(shards, str):
        shards = count_of(shards, open_streamed(corpus.given, **corpus.options).size)
    if beside:
        raise UserError(f"{question.name} in shards takes no --{next(iter(beside)).partition('.')[0]}; leave it out")
    divided: Inputs = {"corpus": corpus, "division": division.step({"corpus": corpus})}
    if question.sharding == "states":
        kept = [one for model in named for one in _states(model, divided, config, shards)]
        return question.step(divided | _numbered("sums", kept), config)
    read = _numbered("models", named) | divided
    asked = _asked(question, config)
    surveyed: Inputs = {"survey": survey.step(read, SurveyConfig(**asked))} if question.surveys else {}
    kept = [sums.step(read | surveyed, one) for one in _each(asked, shards)]
    return question.step(_as_asked(question, named) | surveyed | _numbered("sums", kept), config)


def _states(model: Step | Root, divided: Inputs, config: Any, shards: int) -> list[Step]:
    """A model's hidden states: whoever looks at them, in so many shards, the steps are the same."""
    asked = _asked(states, config if isinstance(config, StatesConfig) else StatesConfig())
    return [sums.step({"models.0": model} | divided, one) for one in _each(asked, shards)]


def _asked(question: Question, config: Any) -> dict[str, Any]:
    return {"question": question.name, "version": question.version, "settings": configs.to_json(config)}


def _each(asked: Mapping[str, Any], shards: int) -> list[SumsConfig]:
    return [SumsConfig(**asked, shard=place + 1, total=shards) for place in range(shards)]


def _numbered(name: str, several: Sequence[Step | Root]) -> Inputs:
    return {f"{name}.{place}": one for place, one in enumerate(several)}


def _as_asked(question: Question, named: Sequence[Step | Root]) -> Inputs:
    names = question.named
    return _numbered(names[0], named) if question.takes_several else dict(zip(names, named, strict=True))
