"""`swap`: what a fine-tuned model answers when words are exchanged, such as she for he. A step of `bias`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertscope.core.catalogue import question
from bertscope.core.result import Result

if TYPE_CHECKING:
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder


@dataclass(frozen=True)
class SwapConfig:
    """Which words are exchanged."""

    pairs: tuple[str, ...] = ()
    """Words that take each other's place, such as she/he; by default English words of gender."""


@question(
    "swap",
    inputs=("model", "task"),
    version=1,
    main="swapped",
    better="higher",
    cite="Garg et al. 2019, Counterfactual Fairness in Text Classification through Robustness",
)
def swap(model: Encoder, task: Task, config: SwapConfig = SwapConfig()) -> Result:  # noqa: B008 (frozen)
    """Answer the test texts with words exchanged.

    Only texts that the swap changes are read. The array `rows` has their places in the test set, `outputs` what
    the model puts out for them; `swapped` is the score where every text keeps its label. Where the swap changes no
    text there is nothing to put out.
    """
    from bertscope.data.swaps import swapped

    at, texts = swapped(task.test, config.pairs)
    subject = {"model": model.name, "task": task.name}
    if not len(at):
        return Result("swap", 1, arrays={"rows": at}, subject=subject, notes=["the swap changes no test text"])
    model.need_classifier(task.n_outputs)
    order, notes = task.match_labels(model.labels)
    outputs = model.predict(texts).logits[:, order]
    score = task.score(outputs, texts)
    return Result(
        "swap",
        1,
        arrays={"rows": at, "outputs": outputs},
        headline=[score.named("swapped")],
        subject=subject,
        notes=notes,
    )
