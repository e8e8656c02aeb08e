"""`features`: which words draw attention, and which words attend to which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    import numpy as np
    import pandas as pd

    from bertscope.analyses.attention.pass_part import PassPart
    from bertscope.analyses.features.reader import FeatureReader
    from bertscope.core.examples import Examples
    from bertscope.models.encoder import Encoder
    from bertscope.models.observe import Passed

_USUAL = ("noun", "verb", "adjective", "pronoun", "subject", "object", "negation")
_SPECIAL = ("[CLS]", "[SEP]")
_MAIN = "heads mostly on [CLS] and [SEP]"
_FEW = 30  # texts with a feature, under which a note says so
_LABELS = {"low": "at least", "high": "at most", "null": "as many random words", "by": "attention of", "n": "texts"}


@dataclass(frozen=True)
class FeaturesConfig:
    """Which kinds of words."""

    features: tuple[str, ...] = _USUAL
    """Kinds of words: those of the default (used as far as the corpus tells them), pos:TAG (UPOS) or relation:NAME
    (UD). [CLS] and [SEP] are always there."""
    weighted: bool = False
    """Weigh attention by the length of the vectors it moves (Kobayashi et al. 2020)."""
    repeats: int = 1000
    """Bootstrap resamples behind each interval."""
    seed: int = 0
    """Of the resampling."""

    def __post_init__(self) -> None:
        check_least(self, repeats=100, seed=0)


def _reading(
    models: Encoder | str | Sequence[Encoder | str], examples: Examples | str, config: FeaturesConfig
) -> PassPart:
    from bertscope.analyses.attention.pass_part import PassPart
    from bertscope.analyses.features.reader import FeatureReader

    checkpoints = side_by_side(models)
    marked_words, unmarked = _with_words(open_examples(examples))
    features, untold = mark_features(marked_words, config.features)
    reader = FeatureReader(features, marked_words.ids, repeats=config.repeats, seed=config.seed)

    def finish(passed: Passed) -> Result:
        result = features_result(reader, passed, list(checkpoints))
        result.subject = subject(list(checkpoints), marked_words, weighted=config.weighted)
        result.notes = [*marked_words.notes, *untold, *unmarked, *result.notes]
        return result

    return PassPart(list(checkpoints.values()), marked_words, reader, finish, weighted=config.weighted)


_CARD = (
    HeadFact(
        "heads", "excess", "attends to, beyond chance", "excess_low", "excess_high", by=("checkpoint",),
        items=("feature",), where={"by": "all tokens"}, middle=0.0,
    ),
    HeadFact(
        "change", "change", "gained most", "low", "high", by=("checkpoint",), items=("feature",), top=2,
        where={"by": "all tokens"}, middle=0.0,
    ),
)  # fmt: skip


@question(
    "features",
    inputs=("models", "examples"),
    version=1,
    main=_MAIN,
    cite="Kovaleva et al. 2019, Revealing the Dark Secrets of BERT; Kobayashi et al. 2020, Attention is Not Only a "
    "Weight",
    card=_CARD,
    reads=_reading,
)
def features(
    models: Encoder | str | Sequence[Encoder | str],
    examples: Examples | str,
    config: FeaturesConfig = FeaturesConfig(),  # noqa: B008 (frozen)
) -> Result:
    """Which words draw attention, and which words attend to which?

    For each head: the attention that the strongest noun, verb, subject ... of a text receives, averaged over the
    texts that have one, beside what as many random words of the text would receive; the same for the attention of
    [CLS] alone; and the attention from words of one kind to words of another. Several checkpoints are compared on the
    same texts.
    """
    return _reading(models, examples, config).alone()


def _with_words(examples: Examples) -> tuple[Examples, list[str]]:
    """The corpus with its annotation, or spaCy's; without either, what to install."""
    from bertscope.data.annotate import annotated

    try:
        return annotated(examples), []
    except UserError as missing:
        return examples, [str(missing)]


def mark_features(examples: Examples, named: Sequence[str]) -> tuple[dict[str, tuple[np.ndarray, ...]], list[str]]:
    """Which words of each example have each feature, and what to say of those that the corpus doesn't tell."""
    from bertscope.data.features import feature_words

    marked, missing = {}, []
    for name in dict.fromkeys(named):
        try:
            if name not in _SPECIAL:
                marked[name] = feature_words(examples, name)
        except UserError:
            if tuple(named) != _USUAL:  # what was asked for by name can't be left out
                raise
            missing.append(name)
    notes = [f"the corpus doesn't tell which words are: {', '.join(missing)}"] if missing else []
    return marked, notes


def features_result(reader: FeatureReader, passed: Passed, names: Sequence[str]) -> Result:
    """What the reader found, as tables and figures. Later checkpoints are compared with the first."""
    from bertscope.analyses.attention.maps import read_notes
    from bertscope.analyses.features.tables import make_tables, mostly_special

    tables = make_tables(reader, names)
    notes = read_notes(passed)
    having = tables["layers"].drop_duplicates("feature").set_index("feature")["n"].astype(int)
    rare = [f"{name} ({n})" for name, n in having.items() if n < min(_FEW, passed.examples)]
    if rare:
        notes.append(f"few of the {passed.examples} texts have: {', '.join(rare)}")
    return Result(
        "features",
        1,
        tables=tables,
        headline=_headline([mostly_special(reader, which) for which in range(len(names))], names, passed.examples),
        figures=_figures(tables, names),
        notes=notes,
    )


def _headline(shares: list[np.ndarray], names: Sequence[str], n: int) -> list[Number]:
    """The share of heads that mostly attend to special tokens, and how much it changed."""
    from bertscope.core.resampling import drawn_number

    first, *others = shares
    told = {_MAIN: first}
    for name, share in zip(names[1:], others, strict=True):
        told |= {f"{_MAIN}, {name}": share, f"change from {names[0]} to {name}": share - first}
    return [drawn_number(name, draws, n, "share of heads") for name, draws in told.items()]


def _figures(tables: Mapping[str, pd.DataFrame], names: Sequence[str]) -> list[Figure]:
    of = {name: f": {name}" if len(names) > 1 else "" for name in names}
    last = names[-1]
    by_layer = [
        Figure(
            "lines", "layers", x="layer", y="attention", color="feature", low="low", high="high",
            where={"checkpoint": name, "by": by}, title=f"{title}{of[name]}",
            caption=f"{whose} to the strongest word of each kind in a text, averaged over heads and over the texts "
            "that have such a word, with its 95% bootstrap interval over texts. The table has beside it what as many "
            "random words would get: a maximum grows with the number of words.",
            labels=_LABELS,
        )
        for name in names
        for by, title, whose in (
            ("all tokens", "Attention to kinds of words", "The attention of all tokens"),
            ("[CLS]", "Attention of [CLS] to kinds of words", "The attention of [CLS]"),
        )
    ]  # fmt: skip
    grids = [
        Figure(
            "heatmap", "heads", x="head", y="layer", value="attention", low="low", high="high", facet="feature",
            where={"checkpoint": last, "by": "all tokens"},
            title=f"Attention to kinds of words, head by head{of[last]}",
            caption="What the strongest word of each kind receives, averaged over all tokens' attention and over the "
            "texts that have one.",
            labels=_LABELS,
        )
    ]  # fmt: skip
    if "change" in tables:
        grids.append(
            Figure(
                "heatmap", "change", x="head", y="layer", value="change", low="low", high="high", middle=0.0,
                facet="feature", where={"checkpoint": last, "by": "all tokens"},
                title="Change of the attention to kinds of words",
                caption=f"What the strongest word of each kind receives in {last}, minus what it receives in "
                f"{names[0]}, on the same texts.",
                labels=_LABELS,
            )
        )  # fmt: skip
    between = Figure(
        "heatmap", "pairs", x="to", y="from", value="excess", low="excess_low", high="excess_high", middle=0.0,
        facet="layer", where={"checkpoint": last}, title=f"From words to words{of[last]}",
        caption="The attention from a word of one kind to another word of one kind, averaged over all such pairs "
        "of a text, over texts and over heads, minus that between any two words of the same texts.",
        labels=_LABELS | {"null": "between any two words", "excess": "more than between any two words"},
    )  # fmt: skip
    kinds_known = tables["pairs"]["from"].nunique() > 1  # "any word" to "any word" is 0 by definition
    return [*by_layer, *grids, *([between] if kinds_known else [])]
