"""`relations`: which heads link words that stand in a relation, such as a verb and its object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertscope.analyses.side_by_side import side_by_side, subject
from bertscope.core.catalogue import question
from bertscope.core.config import check_least
from bertscope.core.errors import UserError
from bertscope.core.figure import Figure
from bertscope.core.head_card import HeadFact
from bertscope.core.result import Number, Result
from bertscope.data.corpus import open_examples

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.analyses.attention.pass_part import PassPart
    from bertscope.analyses.relations.reader import RelationReader
    from bertscope.analyses.relations.tables import Best
    from bertscope.core.examples import Examples
    from bertscope.models.encoder import Encoder
    from bertscope.models.observe import Passed

_MAIN = "relations whose best head beats the best offset (p < .05, Holm)"
_FEW = 100  # sentences with frames, under which a note says that little can be found
_LABELS = {
    "low": "at least", "high": "at most", "by": "told by", "p_holm": "p (Holm)", "control": "in control pairs",
    "certain": "more than control pairs: p < .05, corrected (Holm)", "score": "frame score",
}  # fmt: skip


@dataclass(frozen=True)
class RelationsConfig:
    """Which relations, and how heads are chosen and scored."""

    validation_share: float = 0.5
    """The share of the sentences that choose head, direction and offset; the others score them."""
    least: int = 20
    """Relations with fewer pairs to score are listed, not tested."""
    subtypes: bool = False
    """Keep nsubj:pass apart from nsubj, and so on."""
    core: bool = True
    """Of frames, the core elements only."""
    weighted: bool = False
    """Weigh attention by the length of the vectors it moves (Kobayashi et al. 2020)."""
    repeats: int = 1000
    """Bootstrap resamples behind each interval."""
    seed: int = 0
    """Of the split, the control pairs and the resampling."""

    def __post_init__(self) -> None:
        if not 0 < self.validation_share < 1:
            raise UserError(f"validation_share is {self.validation_share}; it must be more than 0 and less than 1")
        if self.least < 2:
            raise UserError(f"least is {self.least}; fewer than 2 pairs can't be tested")
        check_least(self, repeats=100, seed=0)


def check(examples: Examples, config: RelationsConfig) -> None:
    """Refuse what has no relations."""
    from bertscope.analyses.relations.pairs import need_relations

    need_relations(examples)


def _reading(
    models: Encoder | str | Sequence[Encoder | str], examples: Examples | str, config: RelationsConfig
) -> PassPart:
    from bertscope.analyses.attention.pass_part import PassPart
    from bertscope.analyses.relations.pairs import collect_pairs, links_left_out
    from bertscope.analyses.relations.reader import RelationReader

    checkpoints, read = side_by_side(models), open_examples(examples)
    pairs = collect_pairs(
        read, subtypes=config.subtypes, core=config.core, validation_share=config.validation_share, seed=config.seed
    )
    reader = RelationReader(pairs, read.ids, repeats=config.repeats, seed=config.seed)

    def finish(passed: Passed) -> Result:
        result = relations_result(reader, passed, list(checkpoints), config)
        result.subject = subject(list(checkpoints), read, weighted=config.weighted)
        result.notes = [*read.notes, *links_left_out(read, core=config.core), *result.notes]
        return result

    # Of a sentence that is cut, some pairs would be missing and others would have fewer words to choose from.
    return PassPart(list(checkpoints.values()), read, reader, finish, weighted=config.weighted, long="left out")


_CARD = (
    HeadFact(
        "heads", "test_accuracy", "accuracy for the relation", by=("checkpoint",),
        items=("relation", "direction"), order="rank", middle=0.0,
    ),
    HeadFact(
        "frames", "score", "attention from frame elements to the frame", "low", "high", by=("checkpoint",),
        beside={"p_holm": "p (Holm)"}, middle=0.0,
    ),
)  # fmt: skip


@question(
    "relations",
    inputs=("models", "examples"),
    version=3,
    main=_MAIN,
    better="higher",
    cite="Kovaleva et al. 2019, Revealing the Dark Secrets of BERT; Clark et al. 2019, What Does BERT Look At?",
    card=_CARD,
    reads=_reading,
    check=check,
    columns={"heads": {"n": "pairs with a control, of which attention, control, difference and p are"}},
)
def relations(
    models: Encoder | str | Sequence[Encoder | str],
    examples: Examples | str,
    config: RelationsConfig = RelationsConfig(),  # noqa: B008 (frozen)
) -> Result:
    """Which heads link words that stand in a relation?

    A head finds a pair of words if one of them attends to the other more than to any other word. For each relation of
    a treebank or of own annotation, one half of the sentences chooses the best head and direction, and the best fixed
    offset ("the word before"); the other half scores both. Each head's attention in pairs is compared with that in
    other pairs at the same distance. Frames are also scored as in Dark Secrets: the most attention from an element to
    what evokes its frame.
    """
    return _reading(models, examples, config).alone()


def relations_result(reader: RelationReader, passed: Passed, names: Sequence[str], config: RelationsConfig) -> Result:
    """What the reader found, as tables and figures."""
    from bertscope.analyses.relations.tables import best_heads, frames_table, heads_table

    best = best_heads(reader, names, config.least)
    tables = {"best": best.table, "heads": heads_table(reader, names, config.least), "compared": best.compared}
    frames = frames_table(reader, names) if reader.pairs.framed.any() else None
    if frames is not None:
        tables["frames"] = frames
    return Result(
        "relations",
        3,
        tables=tables,
        headline=_headline(best, frames, names),
        figures=_figures(tables, names, config),
        notes=_notes(best.table, frames, passed, config),
    )


def _headline(best: Best, frames: pd.DataFrame | None, names: Sequence[str]) -> list[Number]:
    from bertscope.core.resampling import interval

    numbers = []
    for which, name in enumerate(names):
        of = f", {name}" if which else ""
        mine = best.table[best.table["checkpoint"] == name]
        tested = int(mine["p"].notna().sum())
        numbers.append(Number(_MAIN + of, float(mine["beats"].sum()), n=tested))
        if tested:
            for what, draws in zip(("best heads", "best offsets"), best.draws[:, which].T, strict=True):
                low, high = (float(end) for end in interval(draws))
                numbers.append(
                    Number(f"mean over relations, {what}{of}", float(draws[0]), low, high, tested, "accuracy")
                )
        if frames is not None:
            top = frames[frames["checkpoint"] == name].nlargest(1, "score").iloc[0]
            # The highest of many gets no interval: the one that belongs to each row ignores that it was picked.
            unit = f"head:{top['layer']}.{top['head']}"
            numbers.append(
                Number(f"highest frame score ({unit}){of}", float(top["score"]), n=int(top["n"]), unit="attention")
            )
    return numbers


def _notes(best: pd.DataFrame, frames: pd.DataFrame | None, passed: Passed, config: RelationsConfig) -> list[str]:
    from bertscope.analyses.attention.maps import read_notes

    notes = read_notes(passed)
    if untested := sorted(set(best.loc[best["p"].isna(), "relation"])):
        notes.append(f"too rare to be tested (under {config.least} pairs to score): {', '.join(untested)}")
    if frames is not None and (n := int(frames["n"].max())) < _FEW:
        notes.append(f"frames: a low-powered sample of {n} sentences; the paper has 473")
    return notes


def _figures(tables: dict[str, pd.DataFrame], names: Sequence[str], config: RelationsConfig) -> list[Figure]:
    figures = [
        Figure(
            "intervals", "compared", x="accuracy", y="relation", color="by", low="low", high="high",
            where={"checkpoint": name},
            title="Relations by attention" + (f": {name}" if len(names) > 1 else ""),
            caption="How often the most attended other word is the right one, for the head and direction that did "
            "best on the validation half, beside the best fixed offset; accuracy on the test half with its 95% "
            "bootstrap interval over sentences.",
            labels=_LABELS,
        )
        for name in names
    ]  # fmt: skip
    if "frames" in tables:
        elements = "core frame elements" if config.core else "frame elements"
        figures.append(
            Figure(
                "heatmap", "frames", x="head", y="layer", value="score", low="low", high="high", mark="certain",
                facet="checkpoint", title="From frame elements to what evokes the frame",
                caption=f"The most attention from any token of the {elements} to any token of the target, averaged "
                "over sentences. A dot: more than between other words at the same distance, by a paired t-test "
                "corrected for the number of heads (Holm).",
                labels=_LABELS,
            )
        )  # fmt: skip
    return figures
