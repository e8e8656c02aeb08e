"""`similarity`: how far each layer's representation of the same words is from another checkpoint's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from bertscope.analyses.checkpoints import open_examples
from bertscope.analyses.states import open_states, state_steps
from bertscope.core.catalogue import question, spec
from bertscope.core.errors import UserError
from bertscope.core.result import Result
from bertscope.core.step import Step

if TYPE_CHECKING:
    from bertscope.core.examples import Examples
    from bertscope.models.encoder import Encoder
    from bertscope.models.hidden_store import HiddenStore

_ASKED_OF_BOTH = ("limit", "seed", "skip_bad")  # of how the first corpus is read, what holds for any other too


@dataclass(frozen=True)
class SimilarityConfig:
    """Which words are compared, and between which checkpoints."""

    words: int = 5000
    """How many words, sampled by a hash of the text's id and the word's place; all, if there are fewer."""
    pairs: Literal["first", "all"] = "first"
    """first: each checkpoint is compared with the first; all: each two are."""
    grid: bool = True
    """Compare every layer with every other too, within and between checkpoints. Most of the time goes there."""
    against: str | None = None
    """A second corpus (a file, a task), to see whether the change is the same out of the domain."""
    groups: int = 20
    """Groups of neighbouring texts, each left out in turn, behind the intervals."""
    seed: int = 0
    """Decides which words are sampled; nothing else is random."""

    def __post_init__(self) -> None:
        for name, least in (("words", 50), ("groups", 2), ("seed", 0)):
            if getattr(self, name) < least:
                raise UserError(f"{name} is {getattr(self, name)}; it must be at least {least}")
        if self.pairs not in ("first", "all"):
            raise UserError(f"unknown pairs {self.pairs!r}; choose first or all")


def plan(*arguments: Any) -> Step:
    """Each model's hidden states, of both corpora where there are two, and the step that compares them."""
    from bertscope.data.corpus import examples_root

    *models, examples, config = arguments
    inputs = state_steps(models, examples) | {"examples": examples}
    if config.against is not None:
        both = {name: value for name, value in examples.options.items() if name in _ASKED_OF_BOTH}
        other = examples_root(config.against, **both)
        inputs |= state_steps(models, other, name="against_states") | {"against_examples": other}
    # The corpus is an input now: known by what it holds, wherever it lies.
    return spec("similarity").step(inputs, replace(config, against=None))


@question(
    "similarity",
    inputs=("states", "examples"),
    version=1,
    main="RSA, last layer",
    cite="Merchant et al. 2020, What Happens To BERT Embeddings During Fine-tuning?; Kornblith et al. 2019, "
    "Similarity of Neural Network Representations Revisited",
    optional=("against_states", "against_examples"),
    plan=plan,
)
def similarity(
    states: HiddenStore | Encoder | str | Sequence[HiddenStore | Encoder | str],
    examples: Examples | str,
    config: SimilarityConfig = SimilarityConfig(),  # noqa: B008 (frozen)
    *,
    against_states: Sequence[HiddenStore | Encoder] | None = None,
    against_examples: Examples | str | None = None,
) -> Result:
    """How far did each layer's representation move?

    The same sampled words in every checkpoint and layer: RSA (the correlation of the cosines between all words here
    with those there) and linear CKA, which no rotation changes, beside the plain cosine, which any rotation does. By
    layer, for every two layers, and as more words are taken. Of one checkpoint: how its layers differ.
    """
    from bertscope.analyses.similarity_result import similarity_result
    from bertscope.analyses.similarity_sample import Corpus

    examples = open_examples(examples)
    other = against_examples if against_examples is not None else config.against
    if other is not None and against_states is None:
        states = against_states = _loaded(states)  # the same encoders read both
    corpora = [Corpus(examples.name or "these texts", open_states(states, examples), examples, config.seed)]
    if other is not None:
        other = open_examples(other)
        assert against_states is not None
        beside = open_states(against_states, other)
        corpora.append(Corpus(other.name or "other texts", beside, other, config.seed))
    return similarity_result(corpora, config)


def _loaded(states: Any) -> list[Encoder]:
    """Encoders to read two corpora with."""
    from bertscope.models.hidden_store import HiddenStore
    from bertscope.models.load import load

    listed = [states] if isinstance(states, str) or not isinstance(states, Sequence) else states
    if any(isinstance(given, HiddenStore) for given in listed):
        raise UserError("hidden states of one corpus say nothing of another; give against_states, or the encoders")
    return [load(given) if isinstance(given, str) else given for given in listed]
