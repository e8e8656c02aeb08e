"""`similarity`: how far each layer's representation of the same words is from another checkpoint's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bertscope.analyses.side_by_side import distinct_names
from bertscope.analyses.states import open_states, opened, state_steps
from bertscope.core.catalogue import question
from bertscope.core.config import check_choices, check_least
from bertscope.core.errors import UserError
from bertscope.core.registry import find
from bertscope.core.result import Result
from bertscope.core.step import Root, Step
from bertscope.data.corpus import open_examples

if TYPE_CHECKING:
    from bertscope.analyses.states import Given
    from bertscope.core.examples import Examples
    from bertscope.models.encoder import Encoder


@dataclass(frozen=True)
class SimilarityConfig:
    """Which words are compared, and between which checkpoints."""

    words: int = 5000
    """How many words, sampled by a hash of the text's id and the word's place; all, if there are fewer."""
    pairs: Literal["first", "all"] = "first"
    """first: each checkpoint is compared with the first; all: each two are."""
    grid: bool = True
    """Compare every layer with every other too, within and between checkpoints. Most of the time goes there."""
    groups: int = 20
    """Groups of neighbouring texts, each left out in turn, behind the intervals."""
    seed: int = 0
    """Decides which words are sampled; nothing else is random."""

    def __post_init__(self) -> None:
        check_least(self, words=50, groups=2, seed=0)
        check_choices(self)


def plan(*arguments: Any, against: Root | None = None) -> Step:
    """Each model's hidden states, of both corpora where there are two, and the step that compares them."""
    *models, examples, config = arguments
    inputs = state_steps(models, examples) | {"examples": examples}
    if against is not None:
        inputs |= state_steps(models, against, name="against_states") | {"against": against}
    return find("similarity").step(inputs, config)


@question(
    "similarity",
    inputs=("states", "examples"),
    version=1,
    main="RSA, last layer",
    cite="Merchant et al. 2020, What Happens To BERT Embeddings During Fine-tuning?; Kornblith et al. 2019, "
    "Similarity of Neural Network Representations Revisited",
    optional=("against", "against_states"),
    plan=plan,
)
def similarity(
    states: Given | Sequence[Given],
    examples: Examples | str,
    config: SimilarityConfig = SimilarityConfig(),  # noqa: B008 (frozen)
    *,
    against: Examples | str | None = None,
    against_states: Given | Sequence[Given] | None = None,
) -> Result:
    """How far did each layer's representation move?

    The same sampled words in every checkpoint and layer: RSA (the correlation of the cosines between all words here
    with those there) and linear CKA, which no rotation changes, beside the plain cosine, which any rotation does. By
    layer, for every two layers, and as more words are taken. Of one checkpoint: how its layers differ. `against` is a
    second corpus, where the change may be another; from Python, states that are stores already need `against_states`
    beside it, theirs of that corpus.
    """
    from bertscope.analyses.similarity.result import similarity_result
    from bertscope.analyses.similarity.sample import Corpus
    from bertscope.models.evaluating import full_precision

    examples = open_examples(examples)
    if against is not None and against_states is None:
        states = against_states = _loaded(states)  # the same encoders read both
    stores = [open_states(states, examples)]
    texts = [examples]
    if against is not None and against_states is not None:
        other = open_examples(against)
        if other.ids == examples.ids and other.text == examples.text:
            raise UserError("the second corpus is the first one; give other texts to compare with")
        stores.append(open_states(against_states, other))
        texts.append(other)
    names = distinct_names(one.name or "these texts" for one in texts)
    corpora = [Corpus(*named, config.seed) for named in zip(names, stores, texts, strict=True)]
    with full_precision():
        return similarity_result(corpora, config)


def _loaded(states: Given | Sequence[Given]) -> list[Encoder]:
    """Encoders to read two corpora with."""
    from bertscope.models.states_store import StatesStore

    encoders = []
    for given in opened(states):
        if isinstance(given, StatesStore):
            raise UserError(
                "hidden states of one corpus say nothing of another; give against_states, or the encoders"
            )
        encoders.append(given)
    return encoders
