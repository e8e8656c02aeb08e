"""`relations`: which heads link words that stand in a relation, such as a verb and its object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertscope.core.config import check_least
from bertscope.core.errors import UserError
from bertscope.core.head_card import HeadFact
from bertscope.core.question import EXAMPLES, MODELS, Question
from bertscope.core.series import Followed, OverSteps

if TYPE_CHECKING:
    from bertscope.core.examples import Examples

DIRECTIONS = {"to_target": "source to target", "to_source": "target to source"}
ELEMENT = "frame_element"
"""The relation of the elements of all frames together: each alone is too rare."""
BEST_HEAD, BEST_OFFSET = "best_head", "best_offset"


@dataclass(frozen=True)
class RelationsConfig:
    """Which relations, and how heads are chosen and scored."""

    validation_share: float = 0.5
    """The share of the sentences that choose head, direction and offset; the others score them."""
    least: int = 20
    """Relations with fewer scored pairs than this are listed, not tested."""
    subtypes: bool = False
    """Keep nsubj:pass apart from nsubj, and so on."""
    core: bool = True
    """For frames: only the core elements."""
    weighted: bool = False
    """Multiply attention by the length of the vector it moves (Kobayashi et al. 2020)."""
    repeats: int = 1000
    """Bootstrap resamples behind each interval."""
    seed: int = 0
    """Seed of the split, the control pairs, the resampling and the random weights."""
    null: bool = False
    """Also report how often the tests find something where there is nothing to find, and what the models find with
    random weights. About twice the work."""

    def __post_init__(self) -> None:
        if not 0 < self.validation_share < 1:
            raise UserError(f"validation_share is {self.validation_share}; it must be more than 0 and less than 1")
        if self.least < 2:
            raise UserError(f"least is {self.least}; fewer than 2 pairs can't be tested")
        check_least(self, repeats=100, seed=0)


def need_relations(examples: Examples) -> None:
    """Refuse texts without trees and links."""
    if examples.words is None or (examples.governors is None and examples.links is None):
        raise UserError("these texts have no relations between words; give a treebank, FrameNet or own annotation")


relations = Question(
    __name__,
    """A head finds a pair of words if one of them attends to the other more than to any other word. For each
    relation of a treebank or of your own annotation, one half of the sentences chooses the best head and direction,
    and the best fixed offset ("the word before"); the other half scores both. Each head's attention within pairs,
    beyond what uniform attention gives, is compared with that in control pairs, which have the same distance, parts
    of speech and numbers of pieces. The same is done from frames' elements to the word that evokes the frame,
    beside the score of Dark Secrets.""",
    config=RelationsConfig,
    inputs={"models": MODELS, "examples": EXAMPLES},
    version=5,
    main="beating_offset",
    better="higher",
    over_steps=OverSteps(
        followed=(Followed("best", "accuracy", "accuracy of the best head", by=("relation",)),)
    ),
    cite="Kovaleva et al. 2019, Revealing the Dark Secrets of BERT; Clark et al. 2019, What Does BERT Look At?",
    numbers={
        "beating_offset": "relations whose best head beats the best offset (p < .05, Holm)",
        "beating_offset_random": "such relations with random weights",
        "mean_accuracy": "mean over relations, {by}",
        "above_controls": "tests of a head with more attention than in control pairs (p < .05, Holm)",
        "above_controls_random": "the same with random weights",
        "highest_frame_score": "highest attention to the frame, beyond uniform ({unit})",
        "frame_heads": "heads with more attention to the frame than in control pairs (p < .05, Holm)",
        "frame_heads_random": "such heads with random weights",
    },
    words={
        "by": {BEST_HEAD: "best head", BEST_OFFSET: "best fixed offset"},
        "direction": DIRECTIONS,
        "offset_direction": DIRECTIONS,
        "relation": {ELEMENT: "frame element"},
    },
    null="pairs and their controls, and the best heads' and offsets' hits, are exchanged at random",
    reference="the same model's differences with random weights",
    compared="the share of relations in which the best head beats the best fixed offset",
    check=lambda examples, config: need_relations(examples),
    shares_pass=True,
    sharding="sums",
    surveys=True,
    card=(
        HeadFact(
            "heads", "test_accuracy", "accuracy for the relation", by=("checkpoint",),
            items=("relation", "direction"), order="rank", middle=0.0,
        ),
        HeadFact(
            "frames", "score", "attention from frame elements to the frame, beyond uniform", "low", "high",
            by=("checkpoint",), beside={"p_holm": "p (Holm)"}, middle=0.0,
        ),
    ),
    columns={
        "heads": {
            "n": "pairs with a control, of which attention, control, difference and p are",
            "attention": "in pairs, beyond uniform", "control": "in control pairs, beyond uniform",
            "random_weights": "difference with random weights",
        },
        "frames": {"random_weights": "difference with random weights"},
        "best": {"random_weights": "accuracy of the best head of random weights"},
    },
)  # fmt: skip
