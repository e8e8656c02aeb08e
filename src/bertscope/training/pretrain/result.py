"""The answer of `pretrain`: how well held-out text is guessed, and the curves that led there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bertscope.core.config import to_json
from bertscope.core.figure import Figure
from bertscope.core.model_record import ModelRecord
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.training.pretrain.question import PretrainConfig, pretrain

if TYPE_CHECKING:
    from bertscope.training.loop import History
    from bertscope.training.packed_text import Counts


def pretrain_result(
    history: History, config: PretrainConfig, counts: Counts, models: dict[str, ModelRecord], guessed: int
) -> Result:
    """`guessed` is how many masked pieces the scores are of."""
    assert config.batch_tokens
    rows = pd.DataFrame(history.epochs).rename(columns={"score": "accuracy"}).drop(columns="epoch")
    rows["tokens"] = rows["step"] * config.batch_tokens
    first = ["step", "tokens", "seconds", "loss", "accuracy", "low", "high"]
    curve = rows[[*first, *(column for column in rows if column not in first)]]
    last, tokens = curve.iloc[-1], int(curve["tokens"].iloc[-1])
    told = ("held_out_loss", "bits_per_word", "short_bits_per_word", "long_bits_per_word", "next_sentence", "taught")
    beside = [key for key in told if key in curve]
    return pretrain.result(
        tables={"curve": curve, "steps": pd.DataFrame(history.steps, columns=["step", "loss"])},
        headline=[
            *(
                Number(key, float(row["accuracy"]), float(row["low"]), float(row["high"]), guessed, "accuracy")
                for key, row in (("accuracy", last), ("before", curve.iloc[0]))
            ),
            Number("chance", history.chance, n=guessed, unit="accuracy"),
            *(Number(key, float(last[key])) for key in beside),
        ],
        figures=_figures(history.chance),
        models=models,
        subject={"seed": str(config.seed)},
        notes=[*_notes(config, counts, tokens, history), *history.notes],
        provenance={
            "settings": to_json(config), "training_seconds": history.seconds, "peak_bytes": history.peak,
            "tokens": tokens, "tokens_per_second": tokens / history.seconds if history.seconds else 0.0,
        },
    )  # fmt: skip


def _notes(config: PretrainConfig, counts: Counts, tokens: int, history: History) -> list[str]:
    times, steps, last = tokens / counts.pieces, int(history.epochs[-1]["step"]), history.epochs[-1]
    nothing = f"after {steps:,} steps it guesses no better than always the most frequent piece"
    cure = f"give it more steps, or a learning rate under {config.learning_rate:g} and a longer warm-up"
    return [
        *([f"{nothing}; {cure}"] if last["low"] <= history.chance else []),
        f"learnt from {counts.documents:,} documents, {counts.characters:,} characters, {counts.pieces:,} pieces; "
        f"{counts.held_out_documents:,} documents held out",
        f"{steps:,} steps of {config.batch_tokens:,} tokens, about {times:.2g} times the text, in "
        f"{history.seconds:,.0f} seconds; highest learning rate {config.learning_rate:g}",
        "losses of different vocabularies can't be compared; bits for a word can, about: more pieces tell more of a "
        "word",
    ]


def _figures(chance: float) -> list[Figure]:
    return [
        Figure(
            "lines", "curve", x="step", y="accuracy", low="low", high="high", key="learning_curve",
            title="Learning curve",
            caption="The share of masked pieces of held-out text that are guessed, whole words at 15%, with its 95% "
            "bootstrap interval over rows of text, also before any step. The dashed rule is always guessing the "
            "most frequent piece.", rules={"most frequent piece": chance},
        ),
        Figure(
            "lines", "steps", x="step", y="loss", key="loss", title="Training loss",
            caption="The mean loss over the steps since the last point, dropout on, masks drawn anew.",
        ),
        Figure(
            "lines", "curve", x="step", y="bits_per_word", key="bits",
            title="Bits for a masked word", caption="What it costs to guess held-out words from their context.",
            labels={"bits_per_word": "bits for a word"},
        ),
    ]  # fmt: skip
