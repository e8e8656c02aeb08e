"""For each claim, results in which the effect that it reads is planted."""

from __future__ import annotations

from planted_attention import (
    attention,
    first_tokens,
    frames,
    gains,
    last_share,
    on_special,
    patterns,
    ranks,
    redundancy,
    related,
    unchanged,
)
from planted_results import (
    BASE,
    RANDOM,
    TUNED,
    Planted,
    ablate,
    elsewhere,
    expected,
    geometry,
    probed,
    similarity,
    structure,
    taught,
)
from planted_trainings import (
    agreeing,
    bias,
    compared,
    contrast,
    freeze,
    gained,
    good,
    heads_left,
    in_every_seed,
    scratch,
    shapes,
    truncate,
    weights_left,
)


def depths(value: float) -> list[float]:
    """Seven layers, of which the top third has an RSA of 0.5 and the others `value` more."""
    return [1.0, *[0.5 + value] * 4, 0.5, 0.5]


PLANTED: dict[str, Planted] = {
    "less-than-half-heterogeneous": lambda v, r: patterns((v, r), (v, r), "heterogeneous"),
    "vertical-grows": lambda v, r: patterns((0.3, r / 2), (0.3 + v, r / 2), "vertical"),
    "a-third-on-special": on_special,
    "last-two-layers-most": ranks,
    "last-two-layers-more": last_share,
    "most-heads-unchanged": unchanged,
    "sep-above-features": lambda v, r: attention(
        {"sep": 0.9, "noun": 0.1}, {"sep": 0.3 + v, "noun": 0.3, "verb": 0.1}, r
    ),
    "cls-in-first-layers": first_tokens,
    "no-feature-gains": gains,
    "few-frame-heads": frames,
    "relation-heads-exist": related,
    "a-head-off-improves": ablate("head", best=True),
    "no-head-is-needed": ablate("head", best=False),
    "a-layer-off-improves": ablate("heads", best=True),
    "no-layer-is-needed": ablate("heads", best=False),
    "similar-heads-are-redundant": redundancy("interaction_difference"),
    "relation-heads-not-needed": redundancy("together_effect"),
    "pretraining-gives": scratch("pretraining"),
    "tuning-gives": scratch("fine-tuning"),
    "m-good-reaches-full": good("m"),
    "s-good-comes-close": good("s"),
    "s-random-as-good": compared("s", "good", "random"),
    "s-bad-as-good": compared("s", "good", "bad"),
    "m-random-worse": compared("m", "good", "random"),
    "m-bad-worse": compared("m", "good", "bad"),
    "m-bad-below-random": compared("m", "random", "bad"),
    "bad-gains-by-training": gained,
    "heads-can-go": heads_left,
    "weights-can-go": weights_left,
    "masks-are-unstable": agreeing,
    "super-survivors-are-few": in_every_seed,
    "survivors-not-meaningful": shapes,
    "top-layers-move-most": lambda v, r: [similarity(TUNED, depths(v), r)],
    "elsewhere-moves-less": elsewhere,
    "parsing-moves-deeper": lambda v, r: [
        taught(similarity("pocket tuned on mine", depths(v), r), None, ("glue/mnli@/data/MNLI", {})),
        taught(similarity("pocket tuned on ewt", depths(0), r), None, ("/data/ewt", {"kind": "trees"})),
    ],
    "lower-layers-can-freeze": freeze,
    "trees-are-kept": lambda v, r: structure((BASE, TUNED), (0.6, 0.6 + v), r),
    "knowledge-is-kept": probed,
    "trees-come-from-training": lambda v, r: structure((BASE, RANDOM), (0.4 + v, 0.4), r),
    "low-level-below": expected,
    "cone-narrows": geometry("baseline", lambda v: [0.1, 0.9, 0.1 + v]),
    "words-grow-contextual": geometry("SelfSim*", lambda v: [0.5, 0.1, 0.5 + v]),
    "sentences-stay-apart": geometry("intra-sentence*", lambda v: [0.9, v, 0.9], share=1.0),
    "top-layer-costs-nothing": truncate,
    "without-top-layer-faster": truncate,
    "contrast-slows-the-cone": contrast("contrastive - before"),
    "contrast-by-its-pairs": contrast("contrastive - shuffled"),
    "bias-costs-31-points": bias("the cut", "all"),
    "bias-costs": bias("the cut", "all"),
    "bias-beyond-size": bias("its words", "all"),
    "bias-hits-the-slice": bias("its words", "slice"),
}  # fmt: skip
