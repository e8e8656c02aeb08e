"""`course`: what a question finds of each checkpoint of a training, followed over its steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bertscope.core import registry
from bertscope.core.errors import UserError
from bertscope.core.question import RESULTS, Question
from bertscope.core.series import Series
from bertscope.core.step import Root, Step

TO_FIRST, TO_LAST = "first", "last"


@dataclass(frozen=True)
class CourseConfig:
    """Where in the training the checkpoints were kept."""

    steps: tuple[int, ...] = ()
    """The training steps of all checkpoints, from the first to the last. By default taken from the names of the
    models' folders (checkpoint-N)."""

    def __post_init__(self) -> None:
        if list(self.steps) != sorted({*self.steps}) or any(step < 0 for step in self.steps):
            raise UserError(f"steps are {self.steps}; give whole numbers from 0 on, each higher than the one before")


course = Question(
    __name__,
    """A question is asked of each checkpoint of a training, on the same texts; its numbers become lines over the
    steps. Where a number's change from the first checkpoint to the last is certain, its onset is told: the first
    checkpoint from which on the number stays near where it ends (within a tenth of that change), between which
    checkpoints that was, and a 95% interval, by resamples of the texts that all checkpoints share. Questions that
    compare two models compare each checkpoint with the first; similarity with the last as well. What begins or ends
    so with a model beside itself is an effect size, which has an onset but isn't tested for a change.""",
    config=CourseConfig,
    inputs={"answers": RESULTS},
    optional={"to_last": RESULTS},
    version=3,
    main="certain",
    cite="none: the onset and its interval are ours; docs/series.md says how they are made",
    numbers={
        "lines": "numbers that are followed",
        "certain": "of those that can be tested, changed for certain",
        "onset": "step from which on it stays where it ended: {line}",
        "final_change": "change from the first checkpoint to the last: {line}",
    },
    words={"to": {TO_FIRST: "with the first", TO_LAST: "with the last"}},
    columns={
        "onsets": {
            "after": "the checkpoint before the onset: it came about between the two",
            "onset": "the step of the first checkpoint from which on it stays within a tenth of its change of where "
            "it ends; none where the change is tested and isn't certain, or nobody knows how sure it is",
            "certain": "the change's interval leaves out 0; what has a known end is never tested",
            "known_end": "it begins or ends with a model beside itself: its change is an effect size",
            "low, high": "ends of the 95% interval of the onset, of checkpoints' steps",
        },
    },
    compared="how many numbers changed for certain",
    card=(),
)


def over_series(question: Question, named: Sequence[Step | Root | Series], asked: Callable[..., Step]) -> Step:
    """The step that follows a question's answers along a series; `asked` gives the step that asks it of models."""
    found, *more = (one for one in named if isinstance(one, Series))
    if question.over_steps is None:
        known = [name for name in registry.QUESTIONS if registry.find(name).over_steps]
        last = getattr(found.checkpoints[-1], "source", found.name)
        raise UserError(
            f"{question.name} can't be asked of a series; give {last}, its newest checkpoint, or ask one of "
            f"{', '.join(known)}"
        )
    others = [one for one in named if not isinstance(one, Series)]
    if more or (others and (not question.over_steps.against or len(others) > 1 or named[0] is found)):
        with_what = "one model before it" if question.over_steps.against else "nothing else"
        raise UserError(f"{question.name} of a series takes {with_what}; name the series alone")
    if found.trainings:
        one_by_one = registry.resolve(registry.SERVICES["over_trainings"])
        return one_by_one(found, lambda one: over_series(question, [*others, one], asked))
    first, last = found.checkpoints[0], found.checkpoints[-1]
    answers, to_last = [], []
    if not question.over_steps.against:
        answers = [asked(one) for one in found]
    elif others:
        answers = [asked(*others, one) for one in found]
    else:
        answers = [asked(first, one) for one in found.checkpoints[1:]]
        to_last = [asked(one, last) for one in found.checkpoints[:-1]] * (TO_LAST in question.over_steps.against)
    inputs = {f"answers.{place}": step for place, step in enumerate(answers)}
    inputs |= {f"to_last.{place}": step for place, step in enumerate(to_last)}
    return course.step(inputs, CourseConfig(found.steps))
