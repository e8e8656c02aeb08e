"""The patches of one direction, one by one: from the pair's own other text, and from texts of unrelated pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bertscope.analyses.patch.question import Direction, PartKind, PatchConfig
from bertscope.core.model_record import Origin
from bertscope.models.contrasts import Contrasts, compared, unrelated
from bertscope.models.own_task_head import with_own_task_head
from bertscope.models.paired_rows import Side
from bertscope.models.patching import Patch, patched

INTO: Mapping[Direction, Side] = {"denoise": "corrupted", "noise": "clean"}
"""Which text's run is patched."""
_ENOUGH = 6
"""Pairs under which no test is made: exchanged at random, fewer give no p under .05."""
_ROUNDING = 1e-5
"""Of what lies between two runs, what single precision may miss."""


@dataclass(frozen=True)
class Family:
    """Activations that are tested together, and which of them are patched one by one."""

    kind: PartKind
    direction: Direction
    patches: Sequence[Patch]
    gradient: np.ndarray
    """[patch, pair]: what each would do by the gradient, and by integrated gradients."""
    integrated: np.ndarray
    exact: np.ndarray
    """The places of those that are patched."""


@dataclass(frozen=True)
class Scan:
    """What came of all patches in one direction, [patch, pair]; of unrelated texts, of those pairs that have some."""

    own: np.ndarray
    """The effects of the pair's own other text."""
    tested: np.ndarray
    """The pairs for which there is an unrelated one."""
    same: np.ndarray
    """[draw, patch, pair]: the effects of unrelated texts with the patched text's answer."""
    other: np.ndarray | None
    """[patch, pair]: the effects of an unrelated text with the other answer."""
    random_weights: np.ndarray | None
    """[patch]: the share that it carries in the same model with random weights."""
    places: Mapping[PartKind, slice]
    """Where the patches of each kind are."""
    between: float
    """What lies between the two runs, on average."""

    @property
    def can_test(self) -> bool:
        return len(self.tested) >= _ENOUGH

    @property
    def apart(self) -> np.ndarray:
        """[patch, pair]: how much more the pair's own text does than an unrelated one."""
        return without_rounding(self.own[:, self.tested] - self.same[0], self.between)


def scanned(found: Contrasts, families: Sequence[Family], config: PatchConfig) -> dict[Direction, Scan]:
    """What comes of the patches that are made one by one, in each direction."""
    twin = _random_twin(found, config.seed) if config.null else None
    return {
        direction: _scan(found, [family for family in families if family.direction == direction], twin, config)
        for direction in dict.fromkeys(family.direction for family in families)
    }


def _scan(found: Contrasts, families: Sequence[Family], twin: Contrasts | None, config: PatchConfig) -> Scan:
    direction = families[0].direction
    patches = [family.patches[at] for family in families for at in family.exact]
    ends = np.cumsum([0, *(len(family.exact) for family in families)])
    places = {family.kind: slice(*ends[at : at + 2]) for at, family in enumerate(families)}
    if not patches:
        nothing = np.zeros((0, len(found)))
        return Scan(nothing, np.zeros(0, dtype=np.int64), nothing[None, :, :0], None, None, places, 0.0)
    # Two, though one is enough without a null panel: what is asked beside the answer mustn't change it.
    tested, donors = unrelated(found, 2, config.seed)
    donors = donors if config.null else donors[:1]
    same = np.stack(
        [_effects(found, patches, direction, tested, source=INTO[direction], donors=each) for each in donors]
    )
    other = _effects(found, patches, direction, tested, donors=donors[0]) if config.null else None
    random = None
    if twin is not None:
        # Where random weights put the two texts the other way round, the effect counts the other way round.
        random = (np.sign(twin.between) * _effects(twin, patches, direction)).mean(1) / np.abs(twin.between).mean()
    return Scan(_effects(found, patches, direction), tested, same, other, random, places, float(found.between.mean()))


def _effects(
    found: Contrasts,
    patches: Sequence[Patch],
    direction: Direction,
    pairs: np.ndarray | None = None,
    *,
    source: Side | None = None,
    donors: np.ndarray | None = None,
) -> np.ndarray:
    """[patch, pair]: how far each patch moves the patched text's run toward the other's."""
    into = INTO[direction]
    plain = found.of[into] if pairs is None else found.of[into][pairs]
    moved = patched(found, patches, into=into, source=source, pairs=pairs, donors=donors) - plain
    found_of = without_rounding(moved, np.abs(found.between).mean())
    return found_of if direction == "denoise" else -found_of


def without_rounding(effects: np.ndarray, between: float) -> np.ndarray:
    """Effects, those that may be rounding being none: batches of another shape are added up in another order."""
    return np.where(np.abs(effects) > _ROUNDING * between, effects, 0.0)


def _random_twin(found: Contrasts, seed: int) -> Contrasts:
    """The same pairs and answers of the same model with random weights."""
    asked = found.paired.asked
    model = asked.encoder
    drawn = Origin("random", model.record, seed=seed, init="random")
    twin = with_own_task_head(model, init="random", seed=seed, name=f"{model.name} (random init)", origin=drawn)
    return compared(replace(found.paired, asked=type(asked)(twin)), found.answers)
