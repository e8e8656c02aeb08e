"""`swap`: what a fine-tuned model answers when words are exchanged, such as she for he. A step of `bias`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertscope.core.model_record import records
from bertscope.core.question import MODEL, TASK, Question

if TYPE_CHECKING:
    from bertscope.core.result import Result
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder


@dataclass(frozen=True)
class SwapConfig:
    """Which words are exchanged."""

    pairs: tuple[str, ...] = ()
    """Words that take each other's place, such as she/he; by default English words of gender."""


swap = Question(
    __name__,
    """Only texts that the swap changes are read. The array `rows` has their places in the test set, `outputs` what
    the model puts out for them; `swapped` is the score where every text keeps its label. Where the swap changes no
    text there is nothing to put out.""",
    config=SwapConfig,
    inputs={"model": MODEL, "task": TASK},
    version=1,
    main="swapped",
    better="higher",
    cite="Garg et al. 2019, Counterfactual Fairness in Text Classification through Robustness",
    numbers={"swapped": "score with the words exchanged"},
)


def measure(model: Encoder, task: Task, config: SwapConfig) -> Result:
    from bertscope.data.swaps import swapped

    task = task.asked_of(model)
    at, texts = swapped(task.test, config.pairs)
    about: dict[str, Any] = {"models": records([model]), "subject": {"task": task.name}}
    if not len(at):
        return swap.result(arrays={"rows": at}, **about, notes=["the swap changes no test text"])
    predicted = model.predict(texts, task.output)
    score = task.score(predicted, texts)
    return swap.result(
        arrays={"rows": at, "outputs": task.outputs(predicted)},
        headline=[score.keyed("swapped")],
        **about,
        notes=[*score.notes],
    )
