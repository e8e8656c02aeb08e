"""Labels of maps that were drawn of a model, as a person would give them who sees what `say` says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bertscope.analyses.shapes.own_labels import OwnLabels, Places
from bertscope.core.examples import Examples
from bertscope.core.units import Unit
from bertscope.models.encoder import Encoder


def labelled(
    encoder: Encoder, examples: Examples, say: Callable[[int, Unit], str], *, count: int = 100, seed: int = 0
) -> OwnLabels:
    """`say` is from an example's position and a head to a class."""
    labels = OwnLabels.begun(encoder, examples, seed)
    places = Places.drawn(len(examples), encoder.head_counts, seed, count)
    for row, unit in zip(places.rows.tolist(), places.units, strict=True):
        labels = labels.with_label(row, unit, examples, say(row, unit))
    return labels


def saved(labels: OwnLabels, path: Path) -> Path:
    labels.save(path)
    return path
