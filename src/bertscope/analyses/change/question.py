"""`change`: how much each head's attention moved, from one checkpoint to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertscope.analyses.side_by_side import subject
from bertscope.core.catalogue import question
from bertscope.core.config import check_least
from bertscope.core.errors import UserError
from bertscope.core.head_card import HeadFact
from bertscope.core.result import Result
from bertscope.data.corpus import open_examples

if TYPE_CHECKING:
    from bertscope.analyses.attention.pass_part import PassPart
    from bertscope.core.examples import Examples
    from bertscope.models.encoder import Encoder
    from bertscope.models.observe import Passed


@dataclass(frozen=True)
class ChangeConfig:
    """How two checkpoints' attention is compared."""

    weighted: bool = False
    """Norm-weighted attention: attention times the length of the vector it moves, so that looking at a token and
    taking nothing from it doesn't count (Kobayashi et al. 2020)."""
    repeats: int = 1000
    """Bootstrap resamples behind each interval."""
    seed: int = 0
    """Of the resampling; nothing else is random."""

    def __post_init__(self) -> None:
        check_least(self, repeats=100, seed=0)


def _reading(before: Encoder | str, after: Encoder | str, examples: Examples | str, config: ChangeConfig) -> PassPart:
    from bertscope.analyses.attention.pass_part import PassPart
    from bertscope.analyses.change.reader import ChangeReader
    from bertscope.analyses.shapes import CLASSES
    from bertscope.analyses.shapes.net import shipped
    from bertscope.models.load import load

    examples = open_examples(examples)
    # What sits on top of the encoder has no attention: it isn't loaded.
    before, after = (load(one, task_head="none") if isinstance(one, str) else one for one in (before, after))
    _refuse_other_shapes(before, after)
    net = shipped("features", before.device)
    reader = ChangeReader(
        examples.ids, before.head_counts, repeats=config.repeats, seed=config.seed,
        classify=lambda maps: net(maps).argmax(-1), classes=CLASSES,
    )  # fmt: skip
    names = [before.name, after.name] if before.name != after.name else [f"{before.name} (1)", f"{after.name} (2)"]
    about, notes = subject(names, examples, weighted=config.weighted), examples.notes

    def finish(passed: Passed) -> Result:
        result = reader.result(passed)
        result.subject, result.notes = about, [*notes, *result.notes]
        return result

    return PassPart([before, after], examples, reader, finish, weighted=config.weighted)


@question(
    "change",
    inputs=("before", "after", "examples"),
    version=1,
    main="cosine",
    cite="Kovaleva et al. 2019, Revealing the Dark Secrets of BERT, section 4.3; Lin 1991, Divergence measures based "
    "on the Shannon entropy",
    reads=_reading,
    card=(
        HeadFact("heads", "cosine", "cosine of the maps", "cosine_low", "cosine_high"),
        HeadFact("heads", "divergence", "divergence of the maps", "divergence_low", "divergence_high"),
    ),
)
def change(
    before: Encoder | str,
    after: Encoder | str,
    examples: Examples | str,
    config: ChangeConfig = ChangeConfig(),  # noqa: B008 (frozen)
) -> Result:
    """What did fine-tuning change in the attention?

    Each head's maps before and after, on the same tokens: the cosine of the flattened maps, cropped to the real
    tokens, and the Jensen-Shannon divergence of each query's attention; by head, by layer, and how much of the change
    is in the last two layers. And from which shape to which the maps went (see `patterns`).
    """
    return _reading(before, after, examples, config).alone()


def _refuse_other_shapes(before: Encoder, after: Encoder) -> None:
    if before.n_layers != after.n_layers:
        raise UserError(
            f"{before.name} has {before.n_layers} layers and {after.name} {after.n_layers}: their heads don't "
            "correspond; choose two checkpoints of one model"
        )
    for layer, (one, other) in enumerate(zip(before.head_counts, after.head_counts, strict=True), start=1):
        if one != other:
            raise UserError(
                f"layer {layer} of {before.name} has {one} heads, of {after.name} {other}: they don't correspond; "
                "choose two checkpoints of one model, both whole"
            )
