"""`mislabelled`: which training labels does a model doubt that hasn't seen them, and what is that worth?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from bertscope.core.config import check_least
from bertscope.core.errors import UserError
from bertscope.core.question import MODEL, RESULTS, TASK, Question
from bertscope.core.row_card import RowFact
from bertscope.core.scoring import Scoring
from bertscope.core.step import Root, Step
from bertscope.experiments.trainings import by_recipe
from bertscope.training.finetune.question import finetune

if TYPE_CHECKING:
    from bertscope.data.task import Task

DETECTORS = {
    "held_out": "p(label) of trainings without the row",
    "while_trained": "mean p(label) while it was trained on",
}
"""By what a label is doubted."""
LEVEL = 0.05
"""How likely as many finds may be by chance where labels are doubted at all."""
_NO_LABEL = "its rows don't have one label each that could be exchanged for another"


@dataclass(frozen=True)
class MislabelledConfig:
    """How labels are doubted, and how that is checked."""

    folds: int = 5
    """Into how many parts the training rows are divided; each part is judged by a training on the others."""
    flip: float = 0.05
    """The share of the training labels that is exchanged on purpose, to see how many of them are found."""
    seed: int = 0
    """Seed of the trainings, and of which labels are exchanged."""
    recipe: Literal["auto", "paper", "pocket"] = "auto"
    """The recipe for what isn't given below: auto goes by the model's width and the number of rows; paper and pocket
    as for finetune."""
    epochs: int = 5
    """Passes over the training set; a row's course over epochs needs 5 or more."""
    learning_rate: float | None = None
    """The peak learning rate; by default the recipe's."""

    def __post_init__(self) -> None:
        check_least(self, folds=2, seed=0, epochs=5)
        if not 0 < self.flip <= 0.4:
            raise UserError(f"flip is {self.flip:g}; give a share of the labels above 0, and 0.4 at most")
        by_recipe(self)  # refuses what can't work


def plan(base: Step | Root, task: Root, config: MislabelledConfig = MislabelledConfig()) -> Step:  # noqa: B008 (frozen)
    """A training on all rows and one without each fold, as the labels are and with some of them exchanged."""
    settings, inputs = by_recipe(config, seed=config.seed), dict[str, Step | Root](task=task)
    exchanged = {"flip": config.flip} | ({"flip_seed": config.seed} if config.seed else {})
    for arm, labels in (("", {}), ("_flipped", exchanged)):
        for fold in range(config.folds + 1):
            held: dict[str, Any] = {"fold": [fold, config.folds]} if fold else {}
            data = replace(task, options={**task.options, **labels, **held})
            name = f"folds{arm}.{fold}" if fold else f"whole{arm}.0"
            inputs[name] = finetune.step({"base": base, "task": data}, settings)
    return mislabelled.step(inputs, config)


def check(task: Task, config: MislabelledConfig) -> None:
    """Refuse data whose rows don't have one label each, too few for so many folds, or too few for the check to show
    anything: before all the trainings."""
    from bertscope.data.relabelled import by_chance, flipped_rows, held_out_fold, one_label_each, with_flipped_labels

    noisy = with_flipped_labels(task, config.flip, config.seed)
    for labelled in (task, noisy):
        for fold in range(1, config.folds + 1):
            held_out_fold(labelled, fold, config.folds)
    flipped = flipped_rows(task, config.flip, config.seed)
    count = int(flipped.sum())
    _, best = by_chance(count, flipped, flipped, one_label_each(noisy))
    if best >= LEVEL:
        which = "the one label" if count == 1 else f"the {count} labels"
        raise UserError(
            f"flip is {config.flip:g}: {which} of {len(flipped):,} that it exchanges could be found by luck alone "
            f"(p = {best:.2g} at best), and no label would be doubted; exchange more with --flip, or give more rows"
        )


mislabelled = Question(
    __name__,
    """Each training row's label is judged by a training that hasn't seen the row (K folds). A label is doubted if
    another label has at least its usual probability, and is the likeliest of those that do (confident learning). To
    see what that is worth, the same is done with a share of the labels (--flip) exchanged at random: how many of
    these are found, at which precision, beside what drawing as many rows of each label at random would find. If that
    is no more than chance, no label is doubted. Beside it, the mean p(label) while a row is trained on, which costs
    one training.""",
    config=MislabelledConfig,
    inputs={"whole": RESULTS, "whole_flipped": RESULTS, "folds": RESULTS, "folds_flipped": RESULTS, "task": TASK},
    given={"base": MODEL, "task": TASK},
    scoring=Scoring(
        refuses=dict.fromkeys(
            ("regression", "several", "choices", "spans", "trees", "tokens", "masked", "vectors"), _NO_LABEL
        )
    ),
    version=1,
    main="recall",
    better="higher",
    cite="Swayamdipta et al. 2020, Dataset Cartography; Northcutt et al. 2021, Confident Learning",
    plan=plan,
    check=check,
    numbers={
        "doubted": "labels that are doubted",
        "recall": "exchanged labels that are found",
        "precision": "of what is then doubted, the share that was exchanged",
        "precision_by_chance": "the same where as many rows of each label are drawn at random",
        "beyond_chance": "exchanged labels found beyond chance",
        "never_learnt": "rows never predicted as labelled while trained on",
    },
    words={"detector": DETECTORS, "learnt": {"always": "in every epoch", "sometimes": "in some", "never": "in none"}},
    columns={
        "check": {
            "doubted": "rows whose label is doubted, some labels being exchanged",
            "found": "of these, those whose label was exchanged",
            "expected": "how many that would be if as many rows of each label were drawn at random",
            "p": "how often drawing so finds as many (exact)",
            "auc": "how often an exchanged label is doubted more than another one, by the detector's order",
            "average_precision": "the area under the curve of precision and recall, by the detector's order",
        },
        "doubted": {
            "p_label": "probability of its label, by a training without the row",
            "p_suggested": "that of the label it would have instead",
            "confidence": "mean over epochs of p(label) while it is trained on",
            "learnt": "in how many epochs it was predicted as labelled while trained on",
        },
    },
    printed={"doubted": ("row", "text", "gold", "suggested", "p_label")},
    row_card=(
        RowFact("doubted", "text", "text", shown="text"),
        RowFact("doubted", "gold", "its label", of_row=True),
        RowFact(
            "doubted",
            "suggested",
            "rather labelled",
            beside={"p_label": "p of its label", "p_suggested": "of this one"},
            chosen_by=True,
            listed=True,
        ),
        RowFact("doubted", "confidence", "p of its label while it is trained on", sorted_by=True),
    ),
    compared="how many exchanged labels are found",
)
