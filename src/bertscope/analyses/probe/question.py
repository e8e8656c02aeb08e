"""`probe`: what can be read off a layer's vectors, by probes of every layer of every checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bertscope.analyses.states.question import state_steps
from bertscope.core.config import check_known, check_least
from bertscope.core.errors import UserError
from bertscope.core.question import EXAMPLES, MODELS, STATES, Question
from bertscope.core.series import Followed, OverSteps
from bertscope.core.step import Step

if TYPE_CHECKING:
    from bertscope.analyses.probe.targets import Limits
    from bertscope.core.examples import Examples

OF_WORDS = ("pos", "relation", "frame", "entity", "gender", "word")
TARGETS = (*OF_WORDS, "label", "length")
ProbeKind = Literal["linear", "mlp"]
KINDS: tuple[ProbeKind, ...] = ("linear", "mlp")


@dataclass(frozen=True)
class ProbeConfig:
    """What is asked of the layers, and by which probes."""

    targets: tuple[str, ...] = ()
    """What to read off the vectors: pos, relation (of a word and its head), frame, entity, gender, label, length (of
    the text), word (which of the most frequent); by default all that the corpus has."""
    probes: tuple[ProbeKind, ...] = KINDS
    """linear: one map and a softmax; mlp: one hidden layer before it. The first one named also computes the online
    code, reads the mixes of layers and is drawn."""
    hidden: int = 64
    """Units of the hidden layer."""
    words: int = 4000
    """At most this many words (pairs, texts) to train probes on, as many to test, and an eighth for validation;
    chosen by a hash."""
    balanced: bool = False
    """If there are more words than that, drop those of frequent labels first."""
    types: int = 50
    """For the target `word`: how many of the most frequent words."""
    bins: int = 5
    """For the target `length`: how many groups of texts, of about equal size."""
    code: bool = True
    """Measure how long an online code of the labels is (minimum description length)."""
    expected: bool = True
    """Measure the expected layer, by mixing layers 0 to l."""
    repeats: int = 1000
    """Bootstrap resamples of the texts behind each interval."""
    seed: int = 0
    """Seed of the split of the texts, the words that are drawn, the control task, the probes and the resampling."""

    def __post_init__(self) -> None:
        check_known("target", self.targets, TARGETS)
        check_known("probe", self.probes, KINDS)
        if not self.probes:
            raise UserError(f"no probes to train; name some of {', '.join(KINDS)}")
        check_least(self, hidden=1, words=10, types=2, bins=2, repeats=100, seed=0)


def plan(*arguments: Any) -> Step:
    """Each model's hidden states, and the step that probes them."""
    *models, examples, config = arguments
    return probe.step(state_steps(models, examples) | {"examples": examples}, config)


def check(examples: Examples, config: ProbeConfig) -> None:
    """Refuse texts that don't tell what is asked for."""
    from bertscope.analyses.probe.targets import choose_targets

    choose_targets(examples, config.targets, limits(config))


def limits(config: ProbeConfig) -> Limits:
    """How much of a corpus each target takes."""
    from bertscope.analyses.probe.targets import Limits

    return Limits(config.words, config.balanced, config.types, config.bins)


probe = Question(
    __name__,
    """Probes learn to read a label (part of speech, relation, frame, entity, gender, the task's label, length,
    word) off the vectors of each layer of each checkpoint. Their accuracy on other texts stands beside the
    majority's, the accuracy of the word's usual label, and that on a control task in which every word has a random
    label: what a probe learns by heart. The length of an online code shows how easily the label is read; the
    expected layer shows where it comes from.""",
    config=ProbeConfig,
    inputs={"states": STATES, "examples": EXAMPLES},
    given={"models": MODELS, "examples": EXAMPLES},
    version=2,
    main="mean_accuracy",
    over_steps=OverSteps(followed=(Followed("probes", "accuracy", "accuracy", by=("layer", "target", "probe")),)),
    cite="Hewitt & Liang 2019, Designing and Interpreting Probes with Control Tasks; Voita & Titov 2020, "
    "Information-Theoretic Probing with Minimum Description Length; Tenney et al. 2019, BERT Rediscovers the "
    "Classical NLP Pipeline",
    plan=plan,
    check=check,
    numbers={"mean_accuracy": "mean accuracy", "accuracy": "{target}, layer {layer}"},
    words={
        "series": {
            "probe": "probe",
            "control": "control task",
            "majority": "majority",
            "usual_label": "the word's usual label",
        }
    },
)
