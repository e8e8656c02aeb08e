"""`lottery`: how small a subnetwork still does the task, and does it train again?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bertscope.analyses.patterns.question import PatternsConfig, patterns
from bertscope.core.config import check_seeds
from bertscope.core.errors import UserError
from bertscope.core.head_card import HeadFact
from bertscope.core.question import MODEL, RESULTS, TASK, Question
from bertscope.core.scoring import Scoring
from bertscope.core.step import Root, Step
from bertscope.experiments.lottery.ticket import HANS, TicketConfig, ticket
from bertscope.experiments.prune.question import PruneConfig, prune
from bertscope.experiments.subnetworks import ARMS, EVERY_SEED, Arm
from bertscope.experiments.trainings import by_recipe
from bertscope.training.finetune.question import finetune

_ARMS: tuple[Arm, ...] = ("good", "random", "bad", "reinit")


@dataclass(frozen=True)
class LotteryConfig:
    """What is pruned and how its subnetworks are trained."""

    methods: tuple[Literal["s", "m"], ...] = ("s",)
    """s: prune whole heads and MLPs; m: prune single weights, by magnitude."""
    seeds: tuple[int, ...] = (0,)
    """Run one fine-tuning, one pruning and one set of tickets for each seed; 5 or more give intervals over
    trainings."""
    threshold: float = 0.9
    """The share of the full model's score that a subnetwork must keep."""
    rule: Literal["chance", "paper"] = "chance"
    """What --threshold is a share of. chance: the score above a constant answer's; paper: the plain score."""
    share: float = 0.1
    """How much is pruned per step. s: this share of all heads, and one MLP; m: this share of the remaining weights.
   """
    importance: Literal["example", "token", "cumulative"] = "example"
    """For s: how importance is measured; see `importance`."""
    stop: Literal["paper", "smallest", "tested"] = "paper"
    """Which mask to keep: the last before the first that fails (paper), the smallest that passes, or the last that
    is above the threshold for certain (tested); see `prune`."""
    super_survivors: bool = True
    """Also train what survived with every seed, against parts that never survived and random ones (for s, with 2
    seeds or more)."""
    patterns: bool = True
    """Also report which attention patterns the surviving heads have, by raw and by norm-weighted attention (for s).
   """
    hans: str | None = None
    """For entailment tasks: also score every subnetwork on HANS, given as `hans` (the hub) or the folder with its
    file. It is part of every retraining's step: if you ask for it later, they run again."""
    recipe: Literal["auto", "paper", "pocket"] = "auto"
    """The recipe for what isn't given below: auto goes by the model's width and the number of rows; paper and pocket
    as for finetune."""
    epochs: int | None = None
    """Passes over the training set; by default the recipe's."""
    learning_rate: float | None = None
    """The peak learning rate; by default the recipe's."""
    keep_models: bool = False
    """Keep every retrained subnetwork, in its step's folder."""
    force: bool = False
    """Continue even if the full model isn't clearly above chance."""

    def __post_init__(self) -> None:
        check_seeds(self.seeds)
        by_recipe(self)  # refuses what can't work
        if not self.methods or len(set(self.methods)) != len(self.methods):
            raise UserError(f"methods are {self.methods}; give s, m or both")
        for method in self.methods:
            self.pruning(method)  # refuses what can't work

    def pruning(self, method: Literal["s", "m"]) -> PruneConfig:
        return PruneConfig(method, self.threshold, self.rule, self.share, self.importance, self.stop, self.force)

    def ticket(self, arm: Arm, seed: int) -> TicketConfig:
        return TicketConfig(arm, seed, self.recipe, self.epochs, self.learning_rate, self.keep_models)


def plan(base: Step | Root, task: Root, config: LotteryConfig = LotteryConfig()) -> Step:  # noqa: B008 (frozen)
    """A fine-tuning, a pruning and a training of each subnetwork, for each seed; and the step that compares them."""
    tuned = {seed: finetune.step({"base": base, "task": task}, by_recipe(config, seed=seed)) for seed in config.seeds}
    pruned = {
        (method, seed): prune.step({"model": model, "task": task}, config.pruning(method))
        for method in config.methods
        for seed, model in tuned.items()
    }
    hans = {} if config.hans is None else {"hans": _hans_root(config.hans, task)}
    tickets = []
    for method, seed in pruned:
        inputs = {"base": base, "task": task, "model": tuned[seed]} | hans
        for arm in (*_ARMS, *_super_arms(method, config)):
            seeds = config.seeds if arm in EVERY_SEED else (seed,)
            found = {f"pruned.{place}": pruned[method, one] for place, one in enumerate(seeds)}
            tickets.append(ticket.step(inputs | found, config.ticket(arm, seed)))
    shapes = _shapes(tuned, task) if config.patterns and "s" in config.methods else []
    listed = {"tuned": tuned.values(), "pruned": pruned.values(), "tickets": tickets, "shapes": shapes}
    inputs = {f"{name}.{place}": step for name, steps in listed.items() for place, step in enumerate(steps)}
    return lottery.step(inputs | {"task": task}, config)


def _super_arms(method: str, config: LotteryConfig) -> tuple[Arm, ...]:
    return EVERY_SEED if method == "s" and config.super_survivors and len(config.seeds) > 1 else ()


def _shapes(tuned: dict[int, Step], task: Root) -> list[Step]:
    """The attention patterns of each fine-tuned model on the test set, raw and norm-weighted."""
    from bertscope.data.corpus import examples_root

    examples = examples_root(task.given, **task.options)
    return [
        patterns.step({"models.0": model, "examples": examples}, PatternsConfig(weighted=weighted))
        for weighted in (False, True)
        for model in tuned.values()
    ]


def _hans_root(source: str, task: Root) -> Root:
    """HANS's identity. What isn't HANS, and a task that it can't be asked of, are refused before any training."""
    from bertscope.data.corpus import examples_root
    from bertscope.data.read import declared_labels

    if declared_labels(source) != HANS:
        raise UserError(f"--hans {source}: that isn't HANS; give the folder that has hans_ketm.txt or "
                        "heuristics_evaluation_set.txt, or `hans` for the hub")  # fmt: skip
    labels = declared_labels(task.given, **task.options)
    if labels and "entailment" not in labels:
        raise UserError(f"--hans is for tasks with the label entailment; {task.source} has {', '.join(labels)}")
    return examples_root(source, split="published-dev")


lottery = Question(
    __name__,
    """A fine-tuned model is pruned for as long as it keeps its score on the validation set. What survives (good),
    as many parts drawn at random, and as many of the pruned parts (bad) are scored as they are, and again after
    training them from the pretrained weights; the same for every seed.""",
    config=LotteryConfig,
    inputs={"tuned": RESULTS, "pruned": RESULTS, "tickets": RESULTS, "task": TASK},
    optional={"shapes": RESULTS},
    given={"base": MODEL, "task": TASK},
    scoring=Scoring(),
    version=5,
    main="score",
    better="higher",
    numbers={
        "score": "{arm}",
        "chance": "majority",
        "left": "left",
        "misses": "masks that miss the share on test, {method}",
        "survive": "{parts} that survive",
        "kappa": "kappa of {parts} over seeds",
        "kept_by_four": "{parts} of one seed that three others keep too",
    },
    words={
        "stage": {"fine_tuned": "fine-tuned"},
        "phase": prune.words["phase"],
        "parts": {"mlps": "MLPs"},
        "attention": {"norm_weighted": "norm-weighted"},
        "of": {"all_heads": "all heads"},
        "subnetwork": {
            "full": "full model",
            **{f"{arm}_{stage}": f"{arm}, {stage}" for arm in ARMS for stage in ("pruned", "retrained")},
        },
    },
    compared="the share of the blocks' weights that pruning leaves",
    cite="Prasanna et al. 2020, When BERT Plays the Lottery, All Tickets Are Winning; Michel et al. 2019, Are "
    "Sixteen Heads Really Better than One?",
    plan=plan,
    card=(
        HeadFact(
            "survivors", "share", "share of seeds with which it survives", where={"kind": "head"},
            beside={"seeds": "seeds"}, middle=0.0,
        ),
    ),
)  # fmt: skip
