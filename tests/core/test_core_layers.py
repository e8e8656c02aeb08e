"""Sets of layers as texts: one text for one set, and what is no set is refused."""

from __future__ import annotations

import pytest

from bertscope.core.errors import UserError
from bertscope.core.layers import Layers
from bertscope.training.finetune.question import FinetuneConfig


@pytest.mark.parametrize(
    ("text", "numbers", "embeddings", "canonical"),
    [
        ("", (), False, ""),
        ("12", (12,), False, "12"),
        ("11-12", (11, 12), False, "11-12"),
        ("12, 3+4,11", (3, 4, 11, 12), False, "3-4,11-12"),
        ("1-3+2-5", (1, 2, 3, 4, 5), False, "1-5"),
        ("4+embeddings", (4,), True, "embeddings,4"),
    ],
)
def test_texts_and_sets(text, numbers, embeddings, canonical):
    found = Layers.parse(text)
    assert found == Layers(frozenset(numbers), embeddings) and str(found) == canonical
    assert Layers.parse(str(found)) == found and bool(found) == bool(canonical)


def test_the_whole_encoder_and_counts_from_either_end():
    assert Layers.parse("encoder,3") == Layers(whole=True) and str(Layers(whole=True)) == "encoder"
    assert str(Layers.last(2, of=12)) == "11-12" and not Layers.last(0, of=12)
    assert str(Layers.first(8)) == "embeddings,1-8" and str(Layers.first(0)) == "embeddings"


@pytest.mark.parametrize("text", ["0", "5-3", "top", "1-", "-2", "1..3"])
def test_what_names_no_layers_is_refused(text):
    with pytest.raises(UserError, match="names no layers; write 12, 11-12"):
        Layers.parse(text)


def test_layers_that_a_model_does_not_have():
    assert Layers.parse("3").within(3)
    with pytest.raises(UserError, match="there is no layer 4: the model has layers 1 to 3"):
        Layers.parse("2-4").within(3)


def test_a_training_says_its_sets_in_one_way():
    assert FinetuneConfig(without="12,11", frozen="2+1+embeddings") == FinetuneConfig(
        without="11-12", frozen="embeddings,1-2"
    )
    with pytest.raises(UserError, match="only layers can be left out"):
        FinetuneConfig(without="embeddings")
    with pytest.raises(UserError, match=r"dropout is 1\.5; it must be between 0 and 1"):
        FinetuneConfig(dropout=1.5)
    with pytest.raises(UserError, match="unknown classifier 'relo'; did you mean 'relu'"):
        FinetuneConfig(classifier="relo")
