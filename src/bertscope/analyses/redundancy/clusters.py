"""Groups of like things, and a plane that shows them, from the distances between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_MOST = 20  # clusters that are tried


@dataclass(frozen=True)
class Clusters:
    number: np.ndarray
    """The cluster of each thing, from 1, in the order in which they appear."""
    silhouette: float
    """How much nearer a thing is to its own cluster than to the next: 1 at best, 0 where clusters run into each
    other."""

    @property
    def count(self) -> int:
        return int(self.number.max())


def clusters(distances: np.ndarray, count: int = 0) -> Clusters:
    """Average-linkage clusters of things at these distances [thing, thing].

    count   how many; 0 takes the number of the best silhouette
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform
    from sklearn.metrics import silhouette_score

    tree = linkage(squareform(distances, checks=False), "average")
    best: Clusters | None = None
    for wanted in [count] if count else range(2, min(_MOST, len(distances) - 1) + 1):
        number = _in_order(fcluster(tree, wanted, "maxclust"))
        judged = 1 < number.max() < len(distances)  # one cluster, or one for each thing, has no silhouette
        found = Clusters(number, float(silhouette_score(distances, number, metric="precomputed")) if judged else 0.0)
        if best is None or found.silhouette > best.silhouette:
            best = found
    return best or Clusters(np.ones(len(distances), dtype=int), 0.0)


def plane(distances: np.ndarray) -> tuple[np.ndarray, float]:
    """Places [thing, 2] whose distances come near the given ones (classical scaling), and Kruskal's stress of them.

    The stress is 0 where the plane shows all distances as they are.
    """
    squares = distances**2
    middle = squares.mean(0)
    centred = -(squares - middle - middle[:, None] + middle.mean()) / 2
    values, vectors = np.linalg.eigh(centred)
    places = vectors[:, :-3:-1] * np.sqrt(values[:-3:-1].clip(0))
    places *= np.where(places[np.abs(places).argmax(0), [0, 1]] < 0, -1.0, 1.0)  # signs are nobody's choice: fix them
    shown = np.linalg.norm(places[:, None] - places, axis=-1)
    whole = squares.sum()
    return places, float(np.sqrt(((distances - shown) ** 2).sum() / whole)) if whole else 0.0


def _in_order(number: np.ndarray) -> np.ndarray:
    """Clusters numbered as they appear."""
    _, first, place = np.unique(number, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place] + 1
