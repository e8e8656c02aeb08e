"""`ablate`: what the model loses when a head, an MLP or a layer is switched off, one at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from bertscope.core.catalogue import question
from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.figure import Figure
from bertscope.core.result import Number, Result
from bertscope.core.units import Unit, every

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from bertscope.data.task import Scores, Task
    from bertscope.models.encoder import Encoder

_LABELS = {"low": "from", "high": "to", "p_holm": "p (Holm)", "certain": "p < .05, corrected (Holm)"}
PartKind = Literal["head", "heads", "mlp", "layer"]
KINDS: tuple[PartKind, ...] = ("head", "heads", "mlp", "layer")
_LEVEL = 0.05
_WORDS = {
    "head": "one head",
    "heads": "all heads of a layer",
    "mlp": "the MLP of a layer",
    "layer": "the whole layer",
}


@dataclass(frozen=True)
class AblateConfig:
    """What to switch off, and what to leave in its place."""

    units: tuple[PartKind, ...] = KINDS
    """The kinds of parts: head (each one), heads (all of a layer), mlp, layer (skipped whole)."""
    mode: Literal["uniform", "zero", "mean"] = "uniform"
    """What a head that is off leaves behind. uniform: equal attention to every token, as in Dark Secrets; zero:
    nothing, as in Michel et al.; mean: its average output on the select split. An MLP leaves nothing, or its mean;
    a layer that is off passes its input on."""
    repeats: int = 2000
    """Bootstrap resamples behind each interval."""
    permutations: int = 9999
    """Random swaps behind each p-value."""
    seed: int = 0
    """Of the resampling; the predictions have nothing random in them."""

    def __post_init__(self) -> None:
        for kind in self.units:
            if kind not in KINDS:
                raise UserError(f"unknown kind of part {kind!r}; {did_you_mean(kind, KINDS)}")
        if not self.units:
            raise UserError(f"no parts to switch off; name some of {', '.join(KINDS)}")
        if self.mode not in ("uniform", "zero", "mean"):
            raise UserError(f"unknown mode {self.mode!r}; choose uniform, zero or mean")
        if self.seed < 0:
            raise UserError(f"seed is {self.seed}; it must be at least 0")
        if self.repeats < 100 or self.permutations < 99:
            raise UserError("at least 100 repeats and 99 permutations are needed for an interval and a p-value")


@question(
    "ablate",
    inputs=("model", "task"),
    version=1,
    main="score",
    cite="Kovaleva et al. 2019, Revealing the Dark Secrets of BERT; Michel et al. 2019, Are Sixteen Heads Really "
    "Better than One?",
)
def ablate(
    model: Encoder | str,
    task: Task | str,
    config: AblateConfig = AblateConfig(),  # noqa: B008 (frozen)
) -> Result:
    """What if a head, an MLP or a layer is switched off?

    Each part is switched off alone, and the model's score on the report split is compared with its score when whole:
    the same examples, a paired bootstrap interval, and a paired permutation test corrected for the number of parts of
    that kind (Holm).
    """
    from bertscope.data.read import read_task
    from bertscope.models.load import load
    from bertscope.models.replay import predict_without

    model = load(model) if isinstance(model, str) else model
    task = read_task(task) if isinstance(task, str) else task
    model.need_classifier(task.n_outputs)
    parts = [unit for kind in dict.fromkeys(config.units) for unit in every(kind, model.head_counts)]
    reference = model.means(task.select) if config.mode == "mean" else None
    order, notes = task.match_labels(model.labels)
    switched = predict_without(
        model, task.report, [[], *([unit] for unit in parts)], mode=config.mode, reference=reference
    )
    outputs = switched.logits[..., order]
    full = task.score(outputs[0])
    effects = _effects(task, outputs, parts, config)
    return Result(
        "ablate",
        1,
        tables={"effects": effects},
        headline=_headline(full, effects),
        figures=_figures(task.metric, config),
        subject={"model": model.name, "task": task.name, "mode": config.mode},
        notes=[*task.notes, *notes, *_warnings(model, task, full, switched.truncated, effects, config)],
    )


def _warnings(
    model: Encoder, task: Task, full: Scores, truncated: int, effects: pd.DataFrame, config: AblateConfig
) -> list[str]:
    """What a reader should know before believing the numbers."""
    said = []
    if full.low <= full.chance:
        said.append(
            f"the whole model is not clearly above chance ({full.chance:.3f}): what its parts do means little"
        )
    if model.tuned_on not in (None, task.fingerprint):
        said.append(
            "the model was fine-tuned on another split or other data: some report rows may be ones it has seen"
        )
    if truncated:
        said.append(f"{truncated} report texts are longer than {model.max_length} tokens and were cut")
    for kind, count in effects["kind"].value_counts(sort=False).items():
        if count / (config.permutations + 1) > _LEVEL:
            said.append(
                f"{config.permutations} permutations are too few for any of {count} {kind} parts to be certain"
            )
    return said


def _effects(task: Task, outputs: np.ndarray, parts: list[Unit], config: AblateConfig) -> pd.DataFrame:
    import pandas as pd

    from bertscope.core.statistics import holm, paired_effects

    moments = task.moments(outputs)  # [1 + parts, examples, k]
    found = paired_effects(
        task.value, moments[0], moments[1:],
        repeats=config.repeats, permutations=config.permutations, seed=config.seed,
    )  # fmt: skip
    table = pd.DataFrame(
        {
            "unit": [str(unit) for unit in parts],
            "kind": [unit.kind for unit in parts],
            "layer": [unit.layer for unit in parts],
            "head": pd.array([unit.number for unit in parts], dtype="Int64"),
            "score": task.value(moments[1:].mean(1)),
            "effect": found.effect,
            "low": found.low,
            "high": found.high,
            "p": found.p,
        }
    )
    # Each kind is a family of tests of its own: 12 layers need not pay for 144 heads.
    table["p_holm"] = table.groupby("kind")["p"].transform(lambda p: holm(p.to_numpy()))
    table["certain"] = table["p_holm"] < _LEVEL
    return table


def _headline(full: Scores, effects: pd.DataFrame) -> list[Number]:
    metric = full.metric
    numbers = [
        Number("score", full.value, full.low, full.high, full.n, metric),
        Number("chance", full.chance, n=full.n, unit=metric),
    ]
    kind = effects["kind"].iloc[0]
    ordered = effects[effects["kind"] == kind].sort_values("score", kind="stable")
    for word, row in (("lowest", ordered.iloc[0]), ("highest", ordered.iloc[-1])):
        # The extremes of many get no interval: the one that belongs to each row ignores that it was picked.
        name = f"{word} without {_WORDS[kind]} ({row['unit']})"
        numbers.append(Number(name, float(row["score"]), n=full.n, unit=metric))
    certain = effects[effects["certain"]]
    numbers.append(Number("parts it needs (p < .05, Holm)", float((certain["effect"] < 0).sum()), n=len(effects)))
    numbers.append(Number("parts that harm (p < .05, Holm)", float((certain["effect"] > 0).sum()), n=len(effects)))
    return numbers


def _figures(metric: str, config: AblateConfig) -> list[Figure]:
    grid = Figure(
        "heatmap",
        "effects",
        x="head",
        y="layer",
        value="effect",
        low="low",
        high="high",
        where={"kind": "head"},
        title="One head switched off at a time",
        caption=f"The change of {metric} when a single head is switched off ({config.mode}). Below 0 the model "
        "needs the head, above 0 it does better without it. A dot: a paired permutation test, corrected for the "
        "number of heads (Holm), finds a difference. Intervals are in the table: paired bootstrap, not corrected.",
        mark="certain",
        labels=_LABELS | {"effect": f"change of {metric}"},
        middle=0.0,
    )
    by_layer = [
        replace(
            grid,
            kind="intervals",
            x="effect",
            y="layer",
            value=None,
            mark=None,
            where={"kind": kind},
            title=f"Without {_WORDS[kind]}",
            caption=f"The change of {metric} when {_WORDS[kind]} is off, with its 95% paired bootstrap interval.",
        )
        for kind in ("heads", "mlp", "layer")
        if kind in config.units
    ]
    return [grid, *by_layer] if "head" in config.units else by_layer
