"""Distillation: a smaller model learns from what a larger one says, beside the labels (Hinton et al. 2015)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor
from torch.nn.functional import kl_div, log_softmax, mse_loss


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


def from_teacher(student: Tensor, teacher: Tensor, temperature: float) -> Tensor:
    """How far the student's outputs [n, c] are from the teacher's, averaged over the examples.

    Classes: T^2 KL(teacher || student) of the probabilities softmax(outputs / T), in nats; the factor keeps the
    gradient's size whatever the temperature. One output, a score: the squared difference.
    """
    if student.shape[-1] == 1:
        return mse_loss(student, teacher)
    soft, hard = (log_softmax(outputs / temperature, -1) for outputs in (student, teacher))
    return temperature**2 * kl_div(soft, hard, reduction="batchmean", log_target=True)
