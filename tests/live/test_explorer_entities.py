"""A tagger's words that are one entity are marked as one, whatever the scheme of its tags."""

from __future__ import annotations

import pytest
import torch
from transformers import BertConfig, BertForTokenClassification

from bertscope.live.explorer import Explorer
from bertscope.live.messages import LookAt, Reading
from bertscope.models.load import load

TEXT = "old man saw  red river , long road"
SCHEMES = {
    "IOB2": ("B-PER I-PER O B-LOC I-LOC O B-LOC B-LOC", ["old man/PER", "red river/LOC", "long/LOC", "road/LOC"]),
    "IOB1": ("I-PER I-PER O I-LOC I-LOC O I-LOC I-PER", ["old man/PER", "red river/LOC", "long/LOC", "road/PER"]),
    "BIOES": ("B-PER E-PER O B-LOC E-LOC O S-LOC S-LOC", ["old man/PER", "red river/LOC", "long/LOC", "road/LOC"]),
    "untyped": ("B I O B I O B I", ["old man/entity", "red river/entity", "long road/entity"]),
    "plain": ("ADJ NOUN VERB ADJ NOUN PUNCT ADJ NOUN", ["old/ADJ", "man/NOUN", "saw/VERB", "red/ADJ", "river/NOUN",
                                                        ",/PUNCT", "long/ADJ", "road/NOUN"]),
}  # fmt: skip


def tagger(tokenizer, tags: dict[str, str]):
    """Knows each word's tag: no layer does anything to what the embeddings say, one of another size for each word."""
    names = sorted(set(tags.values()))
    sizes = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 64, "intermediate_size": 8}
    labels = {"id2label": dict(enumerate(names)), "label2id": {name: at for at, name in enumerate(names)}}
    model = BertForTokenClassification(BertConfig(vocab_size=len(tokenizer), **sizes, **labels)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        for norm in (one for one in model.modules() if isinstance(one, torch.nn.LayerNorm)):
            norm.weight.fill_(1)
        for at, (word, tag) in enumerate(tags.items()):
            piece = tokenizer.convert_tokens_to_ids(word)
            assert piece != tokenizer.unk_token_id
            model.bert.embeddings.word_embeddings.weight[piece, at] = 1
            model.classifier.weight[names.index(tag), at] = 1 - 0.05 * at
    return load(model, tokenizer=tokenizer)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_entities_are_marked_as_a_whole(_pocket, scheme):
    given, wanted = SCHEMES[scheme]
    tags = dict(zip(TEXT.split(), given.split(), strict=True))
    found = Explorer.open(tagger(_pocket.tokenizer, tags)).look(LookAt(Reading(TEXT))).seen[0].after
    assert [f"{TEXT[one.start : one.end]}/{one.label}" for one in found.marks] == wanted
    assert found.said == " ".join(wanted)
    assert all(0 < found.p <= one.p for one in found.marks)


def test_an_entity_is_as_sure_as_its_least_sure_word(_pocket):
    tags = dict(zip(TEXT.split(), SCHEMES["IOB2"][0].split(), strict=True))
    explorer = Explorer.open(tagger(_pocket.tokenizer, tags))
    whole = explorer.look(LookAt(Reading("old man"))).seen[0].after.marks
    words = [explorer.look(LookAt(Reading(word))).seen[0].after.marks[0].p for word in ("old", "man")]
    assert len(whole) == 1 and words[0] > words[1]
    assert whole[0].p == pytest.approx(words[1], abs=1e-6)
