"""Patching of every kind of answer: what is compared of two texts, and that a whole layer is the other run."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import (
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForMultipleChoice,
    AutoModelForQuestionAnswering,
    AutoModelForTokenClassification,
)

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.units import every
from bertscope.models.contrasts import contrasts
from bertscope.models.load import load
from bertscope.models.outputs.kinds import own_output
from bertscope.models.patching import Patch, patched
from device import DEVICE
from families import tiny_model

CLEAN = ("the good [MASK] was old", "a cold house by the [MASK]", "he said it was [MASK] and good")
CORRUPTED = ("the bad [MASK] was old", "a long house by the [MASK]", "he said it was [MASK] and bad")


def made(_pocket, form=None, **changes):
    how = {} if form is None else {"form": form}
    return load(tiny_model("bert", **how, **changes).to(DEVICE), tokenizer=_pocket.tokenizer)


def centred(encoder):
    """With what it says of these texts about 0, so that it doesn't say the same of all."""
    said = np.concatenate([np.atleast_2d(logits(encoder, text)[0]) for text in (*plain(CLEAN), *plain(CORRUPTED))])
    with torch.no_grad():
        encoder.model.classifier.bias -= torch.from_numpy(said.mean(0)).to(encoder.model.classifier.bias)
    return encoder


def plain(texts):
    return tuple(text.replace("[MASK]", "road") for text in texts)


def both(clean, corrupted, **more):
    ids = tuple(map(str, range(len(clean))))
    return [Examples(ids, texts, **{name: each[side] for name, each in more.items()})
            for side, texts in enumerate((clean, corrupted))]  # fmt: skip


def found_of(encoder, sides, *, pairs=False):
    return contrasts(own_output(encoder, pairs=pairs), *sides, gradients=True, nodes=2)


def holds(encoder, found):
    """A layer at all tokens is the other run, in both directions; and the gradient's contributions are finite."""
    assert len(found)
    for into, other in (("corrupted", "clean"), ("clean", "corrupted")):
        layers = [Patch(layer) for layer in every("layer", encoder.head_counts)]
        np.testing.assert_allclose(patched(found, layers, into=into), [found.of[other]] * len(layers), atol=1e-5)
    assert (found.between > 0).all() and found.attributed.is_finite


def logits(encoder, text):
    with torch.no_grad():
        inputs = encoder.tokenizer(text, return_tensors="pt").to(DEVICE)
        return encoder.model(**inputs).logits[0].cpu().double().numpy(), inputs["input_ids"][0].tolist()


def test_masked_words(_pocket):
    encoder = made(_pocket, AutoModelForMaskedLM)
    found = found_of(encoder, both(CLEAN, CORRUPTED))
    holds(encoder, found)
    for place, pair in enumerate(found.paired.pairs):
        sides = [logits(encoder, texts[pair]) for texts in (CLEAN, CORRUPTED)]
        at = sides[0][1].index(encoder.tokenizer.mask_token_id)
        one, other = (int(side[at].argmax()) for side, _ in sides)
        assert one != other
        expected = [side[at][one] - side[at][other] for side, _ in sides]
        np.testing.assert_allclose([found.of["clean"][place], found.of["corrupted"][place]], expected, atol=1e-4)
    assert found.paired.roles_there == ["changed", "before", "after", "cls", "sep", "mask"]


def test_masked_words_need_a_mask(_pocket):
    encoder = made(_pocket, AutoModelForMaskedLM)
    found = contrasts(own_output(encoder, pairs=False), *both(plain(CLEAN), plain(CORRUPTED)))
    assert not len(found) and found.paired.dropped["no_mask"] == 3


def test_tags(_pocket):
    encoder = centred(made(_pocket, AutoModelForTokenClassification))
    found = found_of(encoder, both(plain(CLEAN), plain(CORRUPTED)))
    holds(encoder, found)
    for place, pair in enumerate(found.paired.pairs):
        one, other = (logits(encoder, plain(texts)[pair])[0][1:-1] for texts in (CLEAN, CORRUPTED))
        tags, others = one.argmax(1), other.argmax(1)
        differ = np.flatnonzero(tags != others)
        expected = [sum(side[at, tags[at]] - side[at, others[at]] for at in differ) for side in (one, other)]
        np.testing.assert_allclose([found.of["clean"][place], found.of["corrupted"][place]], expected, atol=1e-4)


def test_several_labels(_pocket):
    encoder = centred(made(_pocket, num_labels=6, problem_type="multi_label_classification"))
    found = found_of(encoder, both(plain(CLEAN), plain(CORRUPTED)))
    holds(encoder, found)
    for place, pair in enumerate(found.paired.pairs):
        one, other = (logits(encoder, plain(texts)[pair])[0] for texts in (CLEAN, CORRUPTED))
        weigh = (one > 0).astype(int) - (other > 0)
        expected = [side @ weigh for side in (one, other)]
        np.testing.assert_allclose([found.of["clean"][place], found.of["corrupted"][place]], expected, atol=1e-4)


def test_choices(_pocket):
    encoder = made(_pocket, AutoModelForMultipleChoice)
    drawn = np.random.default_rng(0).choice(["old", "good", "road", "cold", "it", "was", "house"], (2, 40, 2, 3))
    choices = [tuple(tuple(" ".join(words) for words in row) for row in side) for side in drawn]
    texts = ("a good road by the house",) * 40
    found = found_of(encoder, both(texts, texts, choices=choices))
    holds(encoder, found)
    one, other = found.answers["clean"], found.answers["corrupted"]
    for side, each in enumerate(("clean", "corrupted")):
        said = encoder.predict(both(texts, texts, choices=choices)[side]).logits[found.paired.pairs]
        rows = np.arange(len(found))
        np.testing.assert_allclose(found.of[each], said[rows, one] - said[rows, other], atol=1e-5)


def test_cosines(_pocket):
    encoder = made(_pocket, AutoModel)
    seconds = [plain(CLEAN)[::-1], plain(CLEAN)[::-1]]
    found = found_of(encoder, both(plain(CLEAN), plain(CORRUPTED), pair=seconds), pairs=True)
    assert len(found) == 3 and (found.between > 0).all()
    holds(encoder, found)


def test_spans_are_refused_with_the_reason(_pocket):
    encoder = made(_pocket, AutoModelForQuestionAnswering, num_labels=2)
    with pytest.raises(UserError, match="can't be patched, because an answer is a place in the text"):
        found_of(encoder, both(plain(CLEAN), plain(CORRUPTED), pair=[plain(CLEAN)] * 2), pairs=True)
