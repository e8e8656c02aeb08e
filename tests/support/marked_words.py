"""Marks on the words of three sentences, and what `features` finds of marks."""

from __future__ import annotations

import numpy as np

from bertscope.analyses.attention.maps import read_maps
from bertscope.analyses.features.measure import FeatureReader
from bertscope.analyses.features.question import FeaturesConfig
from bertscope.analyses.features.result import features_result
from bertscope.core.model_record import ModelRecord
from three_sentences import WORDS

NOUNS, LONG = {"keys", "cabinets", "gardener"}, {"cabinets", "unquestionably", "disappeared", "whispered"}
MARKED = {
    name: tuple(np.array([word in having for word in row]) for row in WORDS)
    for name, having in (("noun", NOUNS), ("long", LONG), ("she", {"She"}))
}


def features_of(encoders, examples, marked, *, plain=None, tokens=None, names=("a",), **config):
    config = FeaturesConfig(repeats=200, **config)
    reader = FeatureReader(marked, examples.ids, plain=plain, repeats=config.repeats, seed=config.seed)
    models = {name: ModelRecord(name, f"model {name}") for name in names}
    return features_result(reader, read_maps(encoders, examples, [reader], tokens=tokens), models)
