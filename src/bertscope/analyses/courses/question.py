"""`courses`: does it come about alike in every training?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bertscope.core.errors import UserError
from bertscope.core.question import RESULTS, Question
from bertscope.core.series import Series
from bertscope.core.step import Root, Step


@dataclass(frozen=True)
class CoursesConfig:
    """What the trainings are called."""

    names: tuple[str, ...] = ()
    """Names for the trainings; by default their numbers, 1, 2 ..."""


courses = Question(
    __name__,
    """Each training of one recipe is a series of checkpoints; what a question finds along each is set side by side,
    at the same steps. The line over the steps is the mean over trainings; its band and the interval of the final
    change are Student's, over trainings: what another seed would do. They need five trainings; of fewer, means are
    points and nothing is tested. Also given: when each training reached its final value.""",
    config=CoursesConfig,
    inputs={"courses": RESULTS},
    version=2,
    main="certain",
    cite="none: means over trainings with Student's intervals",
    numbers={
        "trainings": "trainings",
        "certain": "of those that can be tested, changed for certain, over trainings",
        "final_change": "change from the first checkpoint to the last: {line}",
    },
    columns={
        "means": {
            "low, high": "ends of the 95% interval of the mean, over trainings; none of fewer than five, or "
            "where all are alike"
        },
        "changes": {
            "low, high": "ends of the 95% interval of the mean change, over trainings; none of fewer than five, or "
            "where all changed by the same",
            "certain": "the interval leaves out 0; what has a known end is never tested",
            "known_end": "it begins or ends with a model beside itself: its change is an effect size",
            "earliest, latest": "the first and the last step at which a training got to where it ended, of those "
            "whose own answer tells an onset (their number: told)",
        },
        "lines": {"low, high": "ends of the 95% interval within a training, over texts"},
    },
    compared="how many numbers changed for certain, over trainings",
    card=(),
)


def over_trainings(found: Series, course: Callable[[Series], Step]) -> Step:
    """The step that sets several trainings side by side; `course` gives that which follows one."""
    inputs: dict[str, Step | Root] = {f"courses.{place}": course(one) for place, one in enumerate(found.each())}
    return courses.step(inputs, CoursesConfig(found.trainings))


def called(names: Sequence[str], n: int) -> list[str]:
    """What the trainings are called."""
    if names and len({*names}) != n:
        raise UserError(f"{n} trainings need as many names, each another; names are {', '.join(names)}")
    return list(names) or [str(place) for place in range(1, n + 1)]
