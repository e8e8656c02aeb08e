"""`scratch`: how much of a fine-tuned model's score did pre-training give?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bertscope.core.catalogue import question, spec
from bertscope.core.errors import UserError
from bertscope.core.figure import Figure
from bertscope.core.result import Number, Result
from bertscope.core.step import Root, Step

_SEEDED = ("pretrained, not tuned", "random init, tuned", "fine-tuned")
_ONE_SEED = "one seed: the intervals say how sure each score is, not how much it varies from training to training"


@dataclass(frozen=True)
class ScratchConfig:
    """How the two trainings are run: the same for both, but for the weights they start from."""

    seeds: tuple[int, ...] = (0,)
    """One training from pretrained and one from random weights for each."""
    recipe: Literal["auto", "paper", "pocket"] = "auto"
    """How to train where the rest isn't given: paper for bert-base, pocket for small encoders, auto by width."""
    epochs: int | None = None
    """How often the fit split is gone through; by default what the recipe says."""
    learning_rate: float | None = None
    """The highest learning rate; by default what the recipe says."""

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise UserError(f"seeds are {self.seeds}; give one or more different numbers")
        if min(self.seeds) < 0:
            raise UserError(f"seeds are {self.seeds}; they must be at least 0")


def plan(base: Step | Root, task: Root, config: ScratchConfig = ScratchConfig()) -> Step:  # noqa: B008 (frozen)
    """The fine-tunings that are compared, shared with whoever else needs them, and the step that compares them."""
    from bertscope.training.finetune import FinetuneConfig

    how = {"recipe": config.recipe, "epochs": config.epochs, "learning_rate": config.learning_rate}
    trainings = {
        f"{arm}.{seed}": spec("finetune").step(
            {"base": base, "task": task},
            FinetuneConfig(**how, init=init, seed=seed),  # type: ignore[arg-type]
        )
        for arm, init in (("tuned", "pretrained"), ("random", "random"))
        for seed in config.seeds
    }
    return spec("scratch").step(trainings, config)


@question(
    "scratch",
    inputs=("tuned", "random"),
    version=1,
    main="fine-tuned",
    better="higher",
    cite="Kovaleva et al. 2019, Revealing the Dark Secrets of BERT, table 2",
    plan=plan,
)
def scratch(tuned: list[Result], random: list[Result], config: ScratchConfig = ScratchConfig()) -> Result:  # noqa: B008
    """What does pretraining give?

    The same architecture, task and training: from the pretrained weights and from random ones, beside the pretrained
    encoder before any training and two baselines that need no encoder.
    """
    import pandas as pd

    without_model = [number for number in reversed(tuned[0].headline) if number.name not in ("before", "after")]
    arms = {number.name: [number] for number in without_model} | {
        "pretrained, not tuned": [result.number("before") for result in tuned],
        "random init, tuned": [result.number("after") for result in random],
        "fine-tuned": [result.number("after") for result in tuned],
    }
    metric = str(tuned[0].tables["scores"]["metric"].iloc[0])
    scores = pd.DataFrame(
        {"arm": arm, "seed": seed, "score": number.value, "low": number.low, "high": number.high, "n": number.n}
        for arm, numbers in arms.items()
        for seed, number in zip(config.seeds if arm in _SEEDED else (None,), numbers, strict=True)
    ).astype({"seed": "Int64"})
    curves = [
        result.tables["epochs"].assign(start=start, seed=seed)
        for start, results in (("pretrained", tuned), ("random", random))
        for seed, result in zip(config.seeds, results, strict=True)
    ]
    one = len(config.seeds) == 1
    labels = {"score": metric, "arm": "", "start": "weights at the start"}
    return Result(
        "scratch",
        1,
        tables={"scores": scores, "curves": pd.concat(curves, ignore_index=True)},
        headline=[_mean(arm, numbers) for arm, numbers in reversed(arms.items())],
        figures=[
            Figure(
                "intervals",
                "scores",
                x="score",
                y="arm",
                low="low",
                high="high",
                title="With and without pretraining",
                caption="Not tuned: a new classifier with random weights on the pretrained encoder. "
                f"The report split's {metric}, with a 95% bootstrap interval over examples"
                + ("." if one else "; a point for each seed."),
                labels=labels,
            ),
            Figure(
                "lines",
                "curves",
                x="epoch",
                y="score",
                low="low",
                high="high",
                color="start",
                where={"seed": config.seeds[0]},
                title="Learning curves",
                caption=f"The select split's {metric} after each epoch, with its interval over examples; "
                "epoch 0 is before any training" + ("." if one else f" (seed {config.seeds[0]})."),
                labels=labels,
            ),
        ],
        subject={"model": tuned[0].subject["model"], "task": tuned[0].subject["task"]},
        notes=[*tuned[0].notes, *([_ONE_SEED] if one else [])],
    )


def _mean(arm: str, numbers: list[Number]) -> Number:
    """One run keeps its interval over examples; several give their mean, without one: theirs isn't over runs."""
    if len(numbers) == 1:
        only = numbers[0]
        return Number(arm, only.value, only.low, only.high, only.n, only.unit)
    return Number(arm, sum(number.value for number in numbers) / len(numbers), n=len(numbers), unit=numbers[0].unit)
