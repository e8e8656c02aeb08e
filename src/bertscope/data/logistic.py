"""Logistic regressions of word counts, one for each of many labels, quickly.

The words of a text are few, labels may be dozens and texts tens of thousands. What takes time are steps of L-BFGS, so
there are few: words are measured in units in which the loss curves about equally for rare ones and common ones, and
each fit begins where the one with a stronger penalty ended. The optimum is that of scikit-learn's
`LogisticRegression`, and so is the gradient at which a fit ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_FAR = 30.0  # log-odds of what is as good as certain
_STEPS = 1000


class Logistic:
    """A regression for each column of gold [texts, labels], of features [texts, words]."""

    def __init__(self, features: Any, gold: np.ndarray, tolerance: float = 1e-4) -> None:
        self._features, self._by_word = features.astype(np.float64), features.T.tocsr().astype(np.float64)
        self._gold, self._tolerance = gold.astype(np.float64), tolerance
        self._curvature = np.asarray(self._features.multiply(self._features).mean(0)).ravel()
        share = self._gold.mean(0)
        with np.errstate(divide="ignore"):
            bias = np.clip(np.log(share) - np.log1p(-share), -_FAR, _FAR)
        self._weights = np.vstack([np.zeros((features.shape[1], len(bias))), bias])
        self._open = np.flatnonzero((share > 0) & (share < 1))
        """Labels that some texts have and some haven't; of the others the bias says all."""

    def fit(self, strength: float) -> None:
        """With that weight of the data against the squared weights; from small to large it is quickest."""
        for label in self._open:
            self._weights[:, label] = self._fitted(strength, self._gold[:, label], self._weights[:, label])

    def log_odds(self, features: Any) -> np.ndarray:
        """[texts, labels]"""
        return features @ self._weights[:-1] + self._weights[-1]

    def _fitted(self, strength: float, gold: np.ndarray, start: np.ndarray) -> np.ndarray:
        from scipy.optimize import minimize
        from scipy.special import expit

        n, penalty, spread = len(gold), 1 / (strength * len(gold)), gold.mean() * (1 - gold.mean())
        unit = 1 / np.sqrt(np.append(self._curvature * spread + penalty, spread))
        steepest = np.inf

        def loss(scaled: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal steepest
            weights, bias = (scaled * unit)[:-1], scaled[-1] * unit[-1]
            odds = self._features @ weights + bias
            value = (np.logaddexp(0, odds).sum() - gold @ odds) / n + penalty / 2 * weights @ weights
            rest = (expit(odds) - gold) / n
            gradient = np.append(self._by_word @ rest + penalty * weights, rest.sum())
            steepest = abs(gradient).max()
            return value, gradient * unit

        def until_flat(_: np.ndarray) -> None:
            if steepest <= self._tolerance:
                raise StopIteration

        how = {"maxiter": _STEPS, "gtol": 0.0, "ftol": 1e-15}
        return minimize(loss, start / unit, jac=True, method="L-BFGS-B", callback=until_flat, options=how).x * unit
