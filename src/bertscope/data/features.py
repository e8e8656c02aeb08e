"""Which words have a feature: nouns, subjects, negation ..., from what a corpus says of its words.

Negation is told by the word itself, whole and whatever its case; everything else by the marks `pos` (UPOS) and
`relation` (UD), which a treebank has and `annotate` gives to plain text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain

import numpy as np

from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.examples import Examples
from bertscope.data.table import shown

NEGATIONS = frozenset({
    "not", "no", "never", "nor", "neither", "nobody", "nothing", "none", "nowhere", "cannot", "without", "hardly",
    "barely", "scarcely",
})  # fmt: skip
"""English words that negate; so does every word that ends in n't."""
UPOS = (
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ",
    "SYM", "VERB", "X",
)  # fmt: skip
RELATIONS = (
    "acl", "advcl", "advmod", "amod", "appos", "aux", "case", "cc", "ccomp", "clf", "compound", "conj", "cop",
    "csubj", "dep", "det", "discourse", "dislocated", "expl", "fixed", "flat", "goeswith", "iobj", "list", "mark",
    "nmod", "nsubj", "nummod", "obj", "obl", "orphan", "parataxis", "punct", "reparandum", "root", "vocative",
    "xcomp",
)  # fmt: skip
_POS = {"noun": ("NOUN", "PROPN"), "verb": ("VERB",), "adjective": ("ADJ",), "pronoun": ("PRON",)}
_RELATION = {"subject": ("nsubj", "csubj"), "object": ("obj", "iobj")}
FEATURES = (*_POS, *_RELATION, "negation")
"""Those that have a name of their own. Beside them `pos:TAG`, for any UPOS tag, and `relation:NAME`, for any UD
relation: its subtypes count too (`relation:acl` has `acl:relcl`)."""


def feature_words(examples: Examples, feature: str) -> tuple[np.ndarray, ...]:
    """Whether each word of each example has a feature, one bool array an example.

    noun        NOUN or PROPN; so verb (VERB: auxiliaries are apart), adjective, pronoun
    subject     nsubj or csubj, passive ones included; object is obj or iobj
    negation    a word of NEGATIONS, or one that ends in n't
    pos:ADP     any part of speech
    relation:amod, relation:nsubj:pass    any relation
    """
    kind, _, value = feature.partition(":")
    if feature == "negation":
        return _where(_words(examples), _negates)
    if feature in _POS or (kind == "pos" and value in UPOS):
        return _where(_marks(examples, "pos", feature), _POS.get(feature, (value,)).__contains__)
    wanted = _RELATION.get(feature, (value,))
    if feature in _RELATION or (kind == "relation" and value.partition(":")[0] in RELATIONS):
        subtypes = tuple(f"{relation}:" for relation in wanted)
        return _where(_marks(examples, "relation", feature), lambda one: one in wanted or one.startswith(subtypes))
    known = {"pos": [f"pos:{tag}" for tag in UPOS], "relation": [f"relation:{name}" for name in RELATIONS]}
    raise UserError(
        f"there is no feature {shown(feature)}; {did_you_mean(feature, known.get(kind, [*FEATURES, *known]))}"
    )


def plain_words(examples: Examples) -> np.ndarray:
    """Of each word of the corpus, end to end, whether it isn't punctuation: it has a letter or a digit, and
    its part of speech, where there is one, isn't PUNCT."""
    spelled = np.array([any(map(str.isalnum, word)) for words in _words(examples) for word in words], dtype=bool)
    if "pos" not in examples.marks:
        return spelled
    return spelled & np.array([tag != "PUNCT" for tags in examples.marks["pos"] for tag in tags], dtype=bool)


def _negates(word: str) -> bool:
    plain = word.casefold().replace("’", "'")
    return plain in NEGATIONS or plain.endswith("n't")


def _words(examples: Examples) -> tuple[tuple[str, ...], ...]:
    if examples.words is None:
        raise UserError("features are told word by word, and these texts have no words marked; use annotate first")
    return examples.words


def _marks(examples: Examples, kind: str, feature: str) -> tuple[tuple[str, ...], ...]:
    if kind not in examples.marks:
        raise UserError(
            f"the feature {feature!r} needs each word's {kind}, which these texts don't have; "
            "read a treebank, or use annotate first"
        )
    return examples.marks[kind]


def _where(rows: Iterable[tuple[str, ...]], holds: Callable[[str], bool]) -> tuple[np.ndarray, ...]:
    """Ask once for each different value."""
    rows = tuple(rows)
    having = set(filter(holds, set(chain.from_iterable(rows))))
    return tuple(np.array([value in having for value in row], dtype=bool) for row in rows)
