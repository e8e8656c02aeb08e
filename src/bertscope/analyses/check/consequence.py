"""What follows from `check`: whether the model does what the data asks, and whether its score can be believed."""

from __future__ import annotations

from bertscope.analyses.check.question import check
from bertscope.analyses.check.result import best_baseline
from bertscope.core.consequence import Consequence, how_good, in_100
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars

_MANY = 0.05
"""A share of the rows, or pieces, that is worth a sentence."""
_FEW = 0.01
"""A share of the test set that flatters a score."""
_PIECES = 3.0
"""Pieces of a word from which on a tokenizer isn't made for the language."""
_OTHER_SIZE = 0.02
"""How far a vocabulary may be from the size of the embeddings: some models have room for a few more."""

_BLIND = {"chance": "always giving the same answer", "bag_of_words": "counting words alone"}


def consequences(result: Result) -> list[Consequence]:
    return [_works(result), *_flattered(result), *_contradicted(result), *_read(result), *_tokenizer(result)]


def _works(result: Result) -> Consequence:
    score, best = result["score"], best_baseline(result)
    (above,) = result.numbers(key="above_baseline", arm=best.of["arm"])
    name, good = best.of["arm"], how_good(score.value, score.unit)
    than = how_good(best.value, best.unit)
    known = {number.of["arm"]: number for number in result.numbers(key="baseline")}
    bars: dict[str, Number | float] = {"it": score}
    bars |= {check.words["arm"][arm]: number for arm, number in known.items()}
    beside = Bars.of(bars, most=1.0)
    assert above.low is not None and above.high is not None
    if above.low > 0:
        return Consequence("works", f"It works: {good}; {_needs_no_model(name)} gets {than}.", 0.7, "scores", beside)
    (blind,) = result.numbers(key="above_baseline", arm="chance")
    lost = blind.low is not None and blind.low <= 0
    if above.high < 0:
        text = (
            f"It does not work here: {good}, while {_needs_no_model(name)} gets {than}. Do its labels mean the same "
            "as the data's?"
        )
        return Consequence("works", text, 1.0, "scores", beside, command="bertscope data {data}", at_chance=lost)
    text = f"Whether it is of use is open: {good}; {_needs_no_model(name)} gets {than}."
    return Consequence("works", text, 0.95, "scores", beside, True, "bertscope finetune {model} --on {data}", lost)


def _needs_no_model(arm: str) -> str:
    """What can be had without a model, in a sentence."""
    return _BLIND.get(arm, check.words["arm"][arm])


def _flattered(result: Result) -> list[Consequence]:
    seen = result["seen_share"]
    if seen.value < _FEW:
        return []
    text = f"Its score may flatter it: the training data also holds {in_100(seen.value, 'of every')} test rows."
    score = result["score"]
    beside = None
    if "score_unseen" in result:
        unseen = result["score_unseen"]
        others, all_of_them = (how_good(one.value, one.unit) for one in (unseen, score))
        text += f" On the other rows it gets {others}; on all, {all_of_them}."
        beside = Bars.of({"all rows": score, "unseen": unseen}, most=1.0)
    return [Consequence("works", text, min(1.0, 0.75 + seen.value), "", beside)]


def _contradicted(result: Result) -> list[Consequence]:
    if "contradicted_share" not in result or result["contradicted_share"].value < _FEW:
        return []
    share = result["contradicted_share"].value
    text = (
        f"The data contradicts itself: in {in_100(share, 'of every')} rows the text also occurs with another label."
    )
    return [Consequence("fails", text, 0.5)]


def _read(result: Result) -> list[Consequence]:
    share = result["truncated_share"].value
    if share < _MANY:
        return []
    text = (
        f"It doesn't read everything: {in_100(share, 'of every')} texts are longer than it can take in, and the rest "
        "of each is cut off."
    )
    return [
        Consequence("fails", text, min(1.0, 0.4 + share), command="bertscope errors {model} --on {data} --windows 4")
    ]


def _tokenizer(result: Result) -> list[Consequence]:
    unknown, pieces = result["unknown_share"].value, result["pieces_a_word"].value
    size = result["vocabulary_share"]
    if abs(size.value - 1) > _OTHER_SIZE:
        text = (
            "Its tokenizer, which cuts texts into pieces, may be another model's: its vocabulary is "
            f"{size.value:.0%} as large as the model's own."
        )
        return [Consequence("works", text, 1.0)]
    if unknown >= _MANY:
        text = (
            f"Its tokenizer doesn't fit these texts: it doesn't know {in_100(unknown, 'of every')} pieces. Is it the "
            "right one?"
        )
        return [Consequence("works", text, 0.9)]
    if pieces >= _PIECES:
        text = f"Its tokenizer isn't made for these texts: it cuts a word into {pieces:.1f} pieces on average."
        return [Consequence("fails", text, 0.5)]
    return []
