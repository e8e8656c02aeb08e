"""`similarity`: how far each layer's representation of the same words is from another checkpoint's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from bertscope.analyses.states.question import state_steps
from bertscope.core.config import check_choices, check_least
from bertscope.core.question import EXAMPLES, MODELS, STATES, Input, Question
from bertscope.core.series import Followed, OverSteps
from bertscope.core.step import Root, Step


@dataclass(frozen=True)
class SimilarityConfig:
    """Which words are compared, and between which checkpoints."""

    words: int = 5000
    """How many words to compare, sampled by a hash of the text's id and the word's place; all, if there are fewer."""
    pairs: Literal["first", "all"] = "first"
    """first: compare each checkpoint with the first; all: compare every two."""
    grid: bool = True
    """Also compare every layer with every other, within and between checkpoints. This takes most of the time."""
    groups: int = 20
    """The intervals come from this many groups of neighbouring texts, each left out in turn."""
    seed: int = 0
    """Seed of which words are sampled; nothing else is random."""

    def __post_init__(self) -> None:
        check_least(self, words=50, groups=2, seed=0)
        check_choices(self)


def plan(*arguments: Any, against: Root | None = None) -> Step:
    """Each model's hidden states, of both corpora where there are two, and the step that compares them."""
    *models, examples, config = arguments
    inputs = state_steps(models, examples) | {"examples": examples}
    if against is not None:
        inputs |= state_steps(models, against, name="against_states") | {"against": against}
    return similarity.step(inputs, config)


similarity = Question(
    __name__,
    """The same sampled words in every checkpoint and layer: RSA (how the cosines between all words in one correlate
    with those in the other), linear CKA (debiased, and plain beside it) and the Procrustes distance, which no
    rotation changes, beside the plain cosine, which any rotation does. By layer, for every two layers, and as more
    words are taken. For a single checkpoint: how its layers differ. `against` is a second corpus, where the change
    may be different; from Python, states that are already stored also need `against_states`, the states of that
    corpus.""",
    config=SimilarityConfig,
    inputs={"states": STATES, "examples": EXAMPLES},
    optional={
        "against": Input("examples", flag="Other data to repeat this on: is the change the same out of domain?"),
        "against_states": STATES,
    },
    given={"models": MODELS, "examples": EXAMPLES},
    version=3,
    main="rsa_last_layer",
    over_steps=OverSteps(
        against=("first", "last"),
        same={
            f"{measure}_{of}": same
            for measure, same in (
                ("rsa", 1.0), ("debiased_cka", 1.0), ("cka", 1.0), ("procrustes", 0.0), ("plain_cosine", 1.0)
            )
            for of in ("last_layer", "mean")
        },
        followed=(Followed("layers", "value", "similarity", by=("layer", "measure", "corpus")),),
    ),
    cite="Merchant et al. 2020, What Happens To BERT Embeddings During Fine-tuning?; Kornblith et al. 2019, "
    "Similarity of Neural Network Representations Revisited; Song et al. 2012 (unbiased HSIC); Murphy et al. 2024 "
    "(debiased CKA); Ding et al. 2021 (Procrustes)",
    plan=plan,
    sharding="states",
    numbers={
        "rsa_last_layer": "RSA, last layer ({layer})",
        "rsa_mean": "RSA, mean",
        "debiased_cka_last_layer": "debiased CKA, last layer ({layer})",
        "debiased_cka_mean": "debiased CKA, mean",
        "cka_last_layer": "plain CKA, last layer ({layer})",
        "cka_mean": "plain CKA, mean",
        "procrustes_last_layer": "Procrustes distance, last layer ({layer})",
        "procrustes_mean": "Procrustes distance, mean",
        "plain_cosine_last_layer": "plain cosine (defeated by rotation), last layer ({layer})",
        "plain_cosine_mean": "plain cosine (defeated by rotation), mean",
        "lowest_rsa_layer": "layer with the lowest RSA",
        "rsa_below_last_layer": "RSA with the layer below, last layer ({layer})",
        "rsa_below_mean": "RSA with the layer below, mean",
        "debiased_cka_below_last_layer": "debiased CKA with the layer below, last layer ({layer})",
        "debiased_cka_below_mean": "debiased CKA with the layer below, mean",
        "cka_below_last_layer": "plain CKA with the layer below, last layer ({layer})",
        "cka_below_mean": "plain CKA with the layer below, mean",
        "procrustes_below_last_layer": "Procrustes distance from the layer below, last layer ({layer})",
        "procrustes_below_mean": "Procrustes distance from the layer below, mean",
        "plain_cosine_below_last_layer": "plain cosine (defeated by rotation) with the layer below, last layer "
        "({layer})",
        "plain_cosine_below_mean": "plain cosine (defeated by rotation) with the layer below, mean",
        "lowest_rsa_below_layer": "layer with the lowest RSA with the layer below",
    },
    moves_with_n=(
        "cka_last_layer", "cka_mean", "cka_below_last_layer", "cka_below_mean", "procrustes_last_layer",
        "procrustes_mean", "procrustes_below_last_layer", "procrustes_below_mean",
    ),
    words={
        "measure": {
            "rsa": "RSA",
            "debiased_cka": "debiased CKA",
            "cka": "plain CKA",
            "procrustes": "Procrustes distance",
            "plain_cosine": "plain cosine (defeated by rotation)",
        }
    },
    compared="RSA of the last layer before and after fine-tuning",
)  # fmt: skip
