"""A ranking of parts: which matter most, by what, and how reliable that is. Computed, or read from a stored result
whose question declares a column by which its parts can be ranked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from bertscope.core.errors import UserError
from bertscope.core.files import canonical_json, digest_text
from bertscope.core.units import Unit

if TYPE_CHECKING:
    import numpy as np

    from bertscope.core.model_record import ModelRecord
    from bertscope.core.reliability import Reliability
    from bertscope.core.result import Result

ComputedRanking = Literal["loss", "kl", "gradient", "integrated"]
"""How parts can be ranked without a stored result; `analyses/part_rankings.py` says what each is."""
COMPUTED: tuple[ComputedRanking, ...] = get_args(ComputedRanking)
MISSED = 0.01
"""The share of what integrated gates should add up to that they may miss."""
WORDS = {
    "loss": "rise of the loss",
    "kl": "divergence",
    "integrated": "integrated gates",
    "ablate_loss": "rise of the loss (stored ablate)",
    "importance": "importance (stored)",
    "graft_needed": "graft: needed",
    "graft_enough": "graft: enough",
    "patch_denoise": "patch: denoise",
    "patch_noise": "patch: noise",
    **{f"circuit_{by}": f"{by} (stored circuit)" for by in COMPUTED},
}
"""What parts are ranked by, in words."""
BOTH = "both"
"""Heads and MLPs in one ranking."""
RANDOM = "random"
_KINDS = ("head", "mlp")


@dataclass(frozen=True)
class RanksBy:
    """A column of a table of parts (`unit`, `kind`), declared beside a question: the highest value matters most. The
    parts are those of the last of the result's models."""

    table: str
    column: str
    where: Mapping[str, Any] = field(default_factory=dict)
    """Only the rows with these values."""
    reliability: Mapping[str, str] = field(default_factory=dict)
    """What the headline number `reliability` is of, beside the kind of part."""
    split: Literal["validation", "test", "pairs"] = "test"
    """The rows on which it was measured; pairs of texts may be made of the test set's. A ranking of the test set
    flatters itself where that is scored."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """Heads and MLPs, each with a value: the highest matters most."""

    by: str
    """A key, such as `loss` or `graft_needed`."""
    units: tuple[Unit, ...]
    values: np.ndarray
    """[unit]"""
    reliability: Mapping[str, Reliability] = field(default_factory=dict)
    """Of the ranking of each kind of parts, where it is known."""
    split: str = "validation"
    """The rows that it was measured on."""
    task: str = ""
    """Of a stored one: the task that it was measured on."""

    @classmethod
    def of_means(cls, by: str, units: Sequence[Unit], values: np.ndarray, *, seed: int = 0) -> Ranking:
        """By the mean over examples of values [example, unit], with the reliability that halves of them show."""
        from bertscope.core.reliability import split_half_of_means

        reliability = {
            kind: split_half_of_means(values[:, here].T, seed=seed)
            for kind in (*_KINDS, BOTH) if (here := places(units, kind))
        }  # fmt: skip
        return cls(by, tuple(units), values.mean(0), reliability)

    @property
    def digest(self) -> str:
        """Of the parts and their values: what tells one stored ranking from another."""
        return digest_text(canonical_json([self.by, [str(unit) for unit in self.units], self.values.tolist()]))

    def saw_test_set_of(self, task: str) -> bool:
        """Whether it was measured on the rows on which a question of this task scores: then it flatters itself."""
        return self.split in ("test", "pairs") and self.task == task

    def rising(self, kind: str) -> list[Unit]:
        """The parts of that kind, the one that matters least first; equal ones as they stand."""
        return [self.units[place] for place in sorted(places(self.units, kind), key=self.values.__getitem__)]

    def of(self, units: Sequence[Unit]) -> np.ndarray:
        """The values of these parts, [unit]."""
        where = {unit: place for place, unit in enumerate(self.units)}
        return self.values[[where[unit] for unit in units]]

    def has(self, units: Sequence[Unit]) -> bool:
        """Whether it ranks all of these parts, and there are any."""
        return bool(units) and {*units} <= {*self.units}


def told(by: str) -> str:
    """What parts are ranked by, for a sentence."""
    return WORDS.get(by, by.replace("_", " "))


def places(units: Sequence[Unit], kind: str) -> list[int]:
    """Where the parts of that kind stand."""
    return [place for place, unit in enumerate(units) if kind in (unit.kind, BOTH)]


def stored_rankings(result: Result, model: ModelRecord, units: Sequence[Unit]) -> list[Ranking]:
    """The rankings that a stored result has of a model's heads and MLPs, of which `units` are all; the one that its
    question names first comes first. What ranks none of them, or ranks another model's, is refused."""
    from bertscope.core import registry

    question = registry.still_declared(result.question)
    declared = question.ranks if question else {}
    if not declared:
        raise UserError(f"a result of {result.question} ranks no parts; give one of {', '.join(_that_rank())}")
    about = list(result.models.values())[-1]
    if not about.is_same(model):
        raise UserError(
            f"the result of {result.question} ranks the parts of {about.name}, not of this {model.name}; "
            f"ask {result.question} of this model"
        )
    found = [one for key, by in declared.items() if (one := _read(result, key, by, units)) is not None]
    if not found and all(_is_empty(result, by) for by in declared.values()):
        raise UserError(f"the result of {result.question} found nothing to rank parts by; see its notes")
    if not found:
        raise UserError(
            f"the result of {result.question} ranks neither all heads nor all MLPs of {model.name}; "
            f"ask {result.question} of them"
        )
    return found


def rank_correlation(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Spearman's correlation of each two rows of [..., n]; NaN where one doesn't vary."""
    import numpy as np
    from scipy.stats import rankdata

    a, b = (ranks - ranks.mean(-1, keepdims=True) for ranks in (rankdata(side, axis=-1) for side in (one, other)))
    norm = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    return np.divide((a * b).sum(-1), norm, out=np.full_like(norm, np.nan), where=norm > 0)


def _read(result: Result, key: str, by: RanksBy, units: Sequence[Unit]) -> Ranking | None:
    """One of a result's rankings: of the kinds of which it has all parts; None where it has none."""
    table = result.tables.get(by.table)
    if table is None or not {by.column, "unit", "kind", *by.where} <= {*table.columns}:
        return None
    rows = table[table["kind"].isin(_KINDS) & table[by.column].notna()]
    for column, value in by.where.items():
        rows = rows[rows[column] == value]
    values = dict(zip(map(Unit.parse, rows["unit"]), rows[by.column].astype(float), strict=True))
    there = [
        unit for kind in _KINDS if (own := [one for one in units if one.kind == kind]) and {*own} <= {*values}
        for unit in own
    ]  # fmt: skip
    if not there:
        return None
    import numpy as np

    name = result.question if key == result.question else f"{result.question}_{key}"
    ranked = np.array([values[unit] for unit in there])
    return Ranking(
        name,
        tuple(there),
        ranked,
        _reliability(result, by),
        by.split,
        result.subject.get("task") or result.subject.get("pairs", ""),
    )


def _is_empty(result: Result, by: RanksBy) -> bool:
    """Whether its column is there and holds nothing."""
    table = result.tables.get(by.table)
    return table is not None and by.column in table and bool(table[by.column].isna().all())


def _reliability(result: Result, by: RanksBy) -> dict[str, Reliability]:
    """What the result says of it: Pearson's between halves; ranks' isn't among its numbers."""
    from bertscope.core.reliability import Reliability

    return {
        number.of["kind"]: Reliability(number.value, float("nan"))
        for number in result.headline
        if number.key == "reliability" and number.of.get("kind") in _KINDS and number.is_about(by.reliability)
    }


def _that_rank() -> list[str]:
    """The questions whose results rank parts."""
    from bertscope.core import registry

    return [name for name in registry.QUESTIONS if registry.find(name).ranks]
