"""For each claim, results in which the effect that it reads is planted."""

from __future__ import annotations

from planted_attention import (
    attention,
    first_tokens,
    gains,
    last_share,
    on_special,
    patterns,
    ranks,
    redundancy,
    related,
    unchanged,
)
from planted_layers import (
    JUDGE,
    PARSER,
    POCKET,
    RANDOM,
    TUNED,
    depths,
    elsewhere,
    expected,
    geometry,
    grafted,
    probed,
    similarity,
    structure,
)
from planted_parts import (
    ablate,
    agreeing,
    compared,
    gained,
    heads_left,
    retrained,
    shapes,
    weights_left,
)
from planted_results import SURE, Planted
from planted_trainings import bias, contrast, freeze, scratch, truncate

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
    "relation-heads-exist": related,
    "a-head-off-improves": ablate("head", best=True),
    "no-head-is-needed": ablate("head", best=False),
    "a-layer-off-improves": ablate("heads", best=True),
    "no-layer-is-needed": ablate("heads", best=False),
    "similar-heads-are-redundant": lambda v, r: [
        *redundancy("interaction_difference")(v, r), *ablate("head", best=True)(0.1, SURE)
    ],
    "relation-heads-not-needed": lambda v, r: [
        *redundancy("together_effect")(v, r), *ablate("head", best=True)(0.1, SURE)  # which tells the skill
    ],
    "pretraining-gives": scratch("pretraining"),
    "tuning-gives": scratch("fine_tuning"),
    "last-two-layers-carry": grafted(5),
    "m-good-reaches-full": retrained("m", "good"),
    "s-good-comes-close": retrained("s", "good"),
    "s-random-as-good": compared("s", "good", "random"),
    "s-bad-is-trainable": retrained("s", "bad"),
    "m-random-worse": compared("m", "good", "random"),
    "m-bad-worse": compared("m", "good", "bad"),
    "m-bad-below-random": compared("m", "random", "bad"),
    "bad-gains-by-training": gained("bad"),
    "random-gains-by-training": gained("random"),
    "heads-can-go": heads_left,
    "weights-can-go": weights_left,
    "masks-are-unstable": agreeing("kappa"),
    "super-survivors-are-few": agreeing("kept_by_four"),
    "survivors-not-meaningful": shapes,
    "top-layers-move-most": lambda v, r: [similarity(TUNED, depths(v), r)],
    "top-layers-carry": grafted(9, 12),
    "elsewhere-moves-less": elsewhere,
    "parsing-moves-deeper": lambda v, r: [
        similarity(JUDGE, depths(v), r),
        similarity(PARSER, depths(0), r),
    ],
    "lower-layers-can-freeze": freeze,
    "trees-are-kept": lambda v, r: structure((POCKET, TUNED), (0.6, 0.6 + v), r),
    "knowledge-is-kept": probed,
    "trees-come-from-training": lambda v, r: structure((POCKET, RANDOM), (0.4 + v, 0.4), r),
    "low-level-below": expected("pos", "relation"),
    "high-level-on-top": expected("frame", "label"),
    "cone-narrows": geometry("baseline", lambda v: [0.1, 0.9, 0.1 + v]),
    "words-grow-contextual": geometry("self_similarity_adjusted", lambda v: [0.5, 0.1, 0.5 + v]),
    "sentences-stay-apart": geometry("intra_sentence_adjusted", lambda v: [0.9, v, 0.9], share=1.0),
    "top-layer-costs-nothing": truncate,
    "without-top-layer-faster": truncate,
    "contrast-slows-the-cone": contrast("contrastive", "before"),
    "contrast-by-its-pairs": contrast("contrastive", "shuffled"),
    "bias-costs-31-points": bias("cut", "all"),
    "bias-costs": bias("cut", "all"),
    "bias-beyond-size": bias("words", "all"),
    "bias-hits-the-slice": bias("words", "slice"),
}  # fmt: skip
