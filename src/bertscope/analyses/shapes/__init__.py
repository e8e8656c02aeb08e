"""The shape of an attention map: vertical, diagonal, both, block or heterogeneous."""

CLASSES = ("vertical", "diagonal", "vertical+diagonal", "block", "heterogeneous")
"""The five classes of Kovaleva et al. (2019), in the order of the classifiers' outputs."""
