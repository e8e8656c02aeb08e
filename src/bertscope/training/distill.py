"""Distillation: a smaller model learns from what a larger one says, beside the labels (Hinton et al. 2015)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Teacher:
    """What the larger model put out for the training set, in the order of its examples and of the task's labels.

    It is asked once, without dropout: each step then costs no more than one without a teacher.
    """

    outputs: np.ndarray
    temperature: float = 2.0
    """Softens both models' probabilities: above 1, what the teacher thinks of the wrong labels counts for more."""
    weight: float = 0.5
    """Of the teacher; the rest is the labels'."""
