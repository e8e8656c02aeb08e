"""The shape of an attention map: vertical, diagonal, both, block or heterogeneous."""

from typing import Literal

CLASSES = ("vertical", "diagonal", "vertical+diagonal", "block", "heterogeneous")
"""The five classes of Kovaleva et al. (2019), in the order of the classifiers' outputs."""

Labels = Literal["both", "first", "second"]
"""Whose labels a classifier was trained on: both labellers' (where they differ, half each), or one's."""
LABELS: tuple[Labels, ...] = ("both", "first", "second")
