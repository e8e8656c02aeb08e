"""How often the ledger errs: truths are planted on each claim's bound and off it, and go through the whole pipeline.

`python tests/support/error_rates.py 500 2` simulates 500 of each anew in 2 processes, which takes a while,
and writes the table into docs/claims.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import brentq, fsolve
from scipy.stats import beta, norm

from bertscope.analyses.graft.measure import example_shares
from bertscope.core.intervals import part_of_whole
from bertscope.core.model_record import DataRecord, ModelRecord, Origin
from bertscope.core.number import Number
from bertscope.core.resampling import metric_draws
from bertscope.core.result import Result
from bertscope.core.statistics import holm, paired_effects, sign_flip_p
from bertscope.study.claims.measure import judged
from judging import BY_ID
from simulated_trainings import CHANCE, HEADS, SEEDS, TEXTS, Noise, Scores, simulated_lottery, simulated_scratch

PAGE = Path(__file__).resolve().parents[2] / "docs" / "claims.md"
BEGIN, END = "<!-- error rates -->", "<!-- end -->"
FULL = 0.85
SKILL = FULL - CHANCE
NOISE = {"alike": Noise(run=0.1), "unlike": Noise(run=0.6), "failing": Noise(run=0.3, fails=0.2)}
"""Standard deviations of a seed's score of about 2, 9 and 18 points, the last by trainings that fail."""
OF_LOTTERY = (
    "m-good-reaches-full", "s-good-comes-close", "s-random-as-good", "s-bad-is-trainable", "m-random-worse",
    "m-bad-worse", "m-bad-below-random", "bad-gains-by-training", "random-gains-by-training", "heads-can-go",
    "weights-can-go", "masks-are-unstable",
)  # fmt: skip
OF_MASKS = ("super-survivors-are-few",)
_AT_ONCE = 50  # experiments that a process simulates in turn
OF_SCRATCH = ("pretraining-gives", "tuning-gives")
OF_GRAFTS = ("last-two-layers-carry",)
OF_PARTS = ("no-head-is-needed", "a-head-off-improves")


@dataclass(frozen=True)
class Truth:
    """What is so: by how much each kind of claim is off its bound, to the claimed side."""

    of_skill: float
    """As a share of the margin: 1 is no loss at all."""
    apart: float
    """Of differences whose bound is 0, in the score."""
    less: float
    """Of shares of parts and of kappa."""


ON = Truth(0.0, 0.0, 0.0)
OFF = Truth(1.0, 0.1, 0.15)


def _lottery(truth: Truth, noise: Noise, random: np.random.Generator) -> Result:
    lost = 1 - truth.of_skill
    m_good, s_good = FULL - lost * 0.1 * SKILL, FULL - lost * 0.2 * SKILL
    m_random, m_bad = m_good - truth.apart, m_good - 2 * truth.apart
    retrained = {
        ("m", "good"): m_good, ("m", "random"): m_random, ("m", "bad"): m_bad, ("s", "good"): s_good,
        ("s", "random"): s_good - lost * 0.1 * SKILL, ("s", "bad"): FULL - lost * 0.5 * SKILL,
    }  # fmt: skip
    scores: Scores = {("", "full", ""): FULL} | {
        (*key, stage): score - (truth.apart if stage == "pruned" else 0.0)
        for key, score in retrained.items() for stage in ("pruned", "retrained")
    }  # fmt: skip
    return simulated_lottery(
        scores, _survival(2 / 3 - truth.less, 0.4 - truth.less), 2 / 3 - truth.less, noise, random
    )


def _masks(truth: Truth, noise: Noise, random: np.random.Generator) -> Result:
    """Nothing but the masks counts: what three other seeds keep is on the bound, or under it."""
    scores: Scores = {("", "full", ""): FULL} | {
        (method, arm, stage): FULL for method in "sm" for arm in ("good", "random", "bad")
        for stage in ("pruned", "retrained")
    }  # fmt: skip
    return simulated_lottery(scores, _kept_by_four(0.5 - truth.less), 0.5, noise, random)


@cache
def _kept_by_four(share: float) -> np.ndarray:
    """Chances to survive of which such a share of the survivors survives with three other seeds too."""

    def off(kappa: float) -> float:
        chances = _survival(0.6, kappa)
        return (chances**4).mean() / chances.mean() - share

    return _survival(0.6, brentq(off, 0.02, 0.9))


@cache
def _survival(share: float, kappa: float) -> np.ndarray:
    """Chances to survive, by head, whose mean is the share that survives and by which seeds agree so much."""
    place = (np.arange(HEADS) + 0.5) / HEADS

    def off(shape: np.ndarray) -> list[float]:
        chances = beta.ppf(place, *np.exp(shape))
        return [chances.mean() - share, chances.var() / (share * (1 - share)) - kappa]

    either = (1 - kappa) / kappa
    return beta.ppf(place, *np.exp(fsolve(off, np.log([share * either, (1 - share) * either]))))


def _scratch(truth: Truth, noise: Noise, random: np.random.Generator) -> Result:
    """On the bound all are as good as a constant answer; off it fine-tuning gives something."""
    arms = {"tuned": 0.75, "random": 0.75 - truth.apart, "untuned": 0.75 - truth.apart}
    return simulated_scratch(arms, noise, random)


def _parts(truth: Truth, noise: Noise, random: np.random.Generator, n: int = 600, parts: int = 24) -> Result:
    """Heads of one model that are switched off: one costs the margin, or less; a few answers change by chance."""
    whole = (random.random(n) < FULL).astype(float)
    changed = random.random((parts, n)) < 0.02
    arms = np.where(changed, random.random((parts, n)) < whole.mean(), whole)
    cost = (1 - truth.of_skill) * 0.1 * SKILL / FULL
    arms[0] = whole * (random.random(n) >= cost)
    if truth.apart:
        arms[1] = np.maximum(whole, random.random(n) < truth.apart / (1 - FULL) / 2)
    found = paired_effects(lambda m: m[..., 0], whole[:, None], arms[..., None], repeats=500, permutations=0)
    certain = holm(np.array([sign_flip_p(arm - whole) for arm in arms])) < 0.05
    table = {"kind": "head", "effect": found.effect, "low": found.low, "high": found.high, "certain": certain}
    reach = 1.96 * (whole.mean() * (1 - whole.mean()) / n) ** 0.5
    scores = [Number("score", whole.mean(), whole.mean() - reach, whole.mean() + reach, n), Number("chance", CHANCE)]
    about = {"models": {"base": ModelRecord("base", "pocket")}, "subject": {"task": "toy", "mode": "uniform"}}
    return Result("ablate", 1, {"effects": pd.DataFrame(table)}, headline=scores, **about)


def _grafts(truth: Truth, noise: Noise, random: np.random.Generator) -> list[Result]:
    """Of each seed's model: the last two layers give half of the gain on average, or more."""
    shares = 0.5 + truth.less + 0.25 * noise.run * random.normal(size=len(SEEDS))
    gains = np.where(random.random(len(SEEDS)) < noise.fails, 0.0, FULL - CHANCE)
    ease, found = random.normal(size=TEXTS), []
    for seed, (share, gain) in enumerate(zip(shares, gains, strict=True)):
        scores = np.array([CHANCE, CHANCE + gain, CHANCE + share * gain]).clip(0.01, 0.99)
        levels = 2**0.5 * norm.ppf(scores)
        right = levels[:, None] + ease + random.normal(size=(3, TEXTS)) > 0
        draws = metric_draws(lambda means: means[..., 0], right[..., None].astype(float), repeats=300, seed=seed)
        given, low, high = part_of_whole(draws[:, 2] - draws[:, 0], draws[:, 1] - draws[:, 0])
        table = {"kind": "top_down", "layer": [10, 11, 12], "score_share": [1.0, given, 0.0],
                 "score_share_low": [1.0, low, 0.0], "score_share_high": [1.0, high, 0.0]}  # fmt: skip
        score = right[1].mean()
        reach = 1.96 * (score * (1 - score) / TEXTS) ** 0.5
        base = ModelRecord("base", "pocket")
        tuned = ModelRecord(f"tuned-{seed}", "tuned", Origin("finetune", base, DataRecord("toy", "toy"), seed=seed))
        headline = [Number("score", score, score - reach, score + reach, TEXTS), Number("chance", CHANCE)]
        moments = right[..., None].astype(float)
        by_example = example_shares(lambda means: means[..., 0], *moments[:2], moments[2:])
        arrays = {"top_down": np.repeat(by_example, 12, 0)}
        found.append(Result("graft", 2, {"grafts": pd.DataFrame(table)}, arrays, headline=headline,
                            models={one.id: one for one in (base, tuned)}, subject={"task": "toy"}))  # fmt: skip
    return found


Simulated = Callable[[Truth, Noise, np.random.Generator], Result | list[Result]]
SIMULATED: dict[Simulated, tuple[str, ...]] = {
    _lottery: OF_LOTTERY, _masks: OF_MASKS, _scratch: OF_SCRATCH, _parts: OF_PARTS, _grafts: OF_GRAFTS
}  # fmt: skip
"""What is simulated, and the claims that are read off it."""

NOISES: dict[Simulated, dict[str, Noise]] = {_masks: {"any": Noise(0.1)}, _parts: {"one model": Noise(0.0)}}
"""Where the noise of scores has no part in it."""


def verdicts(
    simulated: Simulated, truth: Truth, noise: Noise, repeats: int, claims: Iterable[str] | None = None, seed: int = 0
) -> dict[str, Counter[str]]:
    """How often each claim got which verdict."""
    chosen = [BY_ID[claim] for claim in claims or SIMULATED[simulated]]
    found: dict[str, Counter[str]] = {claim.id: Counter() for claim in chosen}
    for repeat in range(repeats):
        made = simulated(truth, noise, np.random.default_rng([seed, repeat]))
        table, _ = judged(made if isinstance(made, list) else [made], chosen)
        for claim, verdict in zip(table["claim"], table["verdict"], strict=True):
            found[claim][verdict] += 1
    return found


def table(repeats: int, processes: int = 1) -> str:
    """The rates, in Markdown."""
    asked = [
        (simulated, truth, noise)
        for simulated in SIMULATED for truth in (ON, OFF) for noise in NOISES.get(simulated, NOISE).values()
    ]  # fmt: skip
    parts = [(*one, _AT_ONCE, None, seed) for one in asked for seed in range(repeats // _AT_ONCE)]
    counts: dict[tuple[Simulated, Truth, Noise], dict[str, Counter[str]]] = {one: {} for one in asked}
    with ProcessPoolExecutor(processes) as pool:
        for part, found in zip(parts, pool.map(verdicts, *zip(*parts, strict=True)), strict=True):
            for claim, verdict in found.items():
                counts[part[:3]].setdefault(claim, Counter()).update(verdict)
    rows = ["| claim | trainings | on the bound: holds | fails | off it: holds |", "|---|---|---|---|---|"]
    for simulated, claims in SIMULATED.items():
        for claim in claims:
            for kind, noise in NOISES.get(simulated, NOISE).items():
                on, off = (counts[simulated, truth, noise][claim] for truth in (ON, OFF))
                rates = (count / on.total() for count in (on["holds"], on["fails"], off["holds"]))
                rows.append(f"| `{claim}` | {kind} | {' | '.join(f'{rate:.3f}' for rate in rates)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    import sys

    repeats, processes = (*map(int, sys.argv[1:]), 500, 2)[:2]
    made = table(repeats, processes)
    before, _, after = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    made = f"Each rate is of {repeats:,} simulated experiments.\n\n{made}"
    PAGE.write_text(f"{before}{BEGIN}\n{made}\n{END}{after.partition(END)[2]}", encoding="utf-8")
