"""The biaffine parser: its scores against NumPy by hand, its words, and that it comes back as it was saved."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from transformers import AutoModel

from bertscope.core.errors import UserError
from bertscope.core.examples import NOTHING, Examples
from bertscope.data.trees import check_tree
from bertscope.models.batches import pad, tokenise
from bertscope.models.classifier_form import ClassifierForm
from bertscope.models.load import load
from bertscope.models.new_task_head import bare, with_classifier
from bertscope.models.parser import Biaffine, arc_scores, seen_words, with_parser, word_vectors
from bertscope.models.span_head import with_span_head
from device import on_cpu

RELATIONS = ("nsubj", "obj", "punct", "root")
WORDS = (("Dogs", "bark", "."), ("She", "never", "uninterestedly", "said", "it", "."), ("No",))


@pytest.fixture
def sentences() -> Examples:
    return Examples(("a", "b", "c"), tuple(" ".join(row) for row in WORDS), words=WORDS)


def leaky(x):
    return np.where(x > 0, x, 0.1 * x)


def test_scores_are_those_of_the_paper():
    torch.manual_seed(0)
    one = Biaffine(hidden=5, relations=3, arc_size=4, relation_size=2).double().eval()
    vectors = torch.randn(2, 4, 5, dtype=torch.double)  # three words, and what is above the root
    weights = {name: tensor.detach().numpy() for name, tensor in one.named_parameters()}

    def small(name):
        return leaky(vectors.numpy() @ weights[f"{name}.0.weight"].T + weights[f"{name}.0.bias"])

    heads, below = small("arc_head"), small("arc_dependent")[:, 1:]
    matrix, bias = weights["arc_weight"][:, :-1], weights["arc_weight"][:, -1]
    arcs = np.einsum("bhi,ij,bdj->bdh", heads, matrix, below) + np.einsum("bhi,i->bh", heads, bias)[:, None]
    assert np.allclose(one.arcs(vectors).detach().numpy(), arcs)

    chosen = torch.tensor([[0, 1, 1], [2, 0, 2]])
    above, below = small("relation_head"), small("relation_dependent")
    found = one.relations(vectors, chosen).detach().numpy()
    for row in range(2):
        for word in range(3):
            h, d = above[row, chosen[row, word]], below[row, word + 1]
            for relation, weight in enumerate(weights["relation_weight"]):
                by_hand = h @ weight[:-1, :-1] @ d + h @ weight[:-1, -1] + d @ weight[-1, :-1] + weight[-1, -1]
                assert found[row, word, relation] == pytest.approx(by_hand)


def test_a_word_is_the_mean_of_its_pieces(tiny, sentences):
    model = with_parser(tiny, RELATIONS).model
    tokens = tokenise(tiny.tokenizer, sentences, 64)
    batch = pad(tokens, np.arange(3), pad_id=0, device=tiny.device)
    assert seen_words(batch).tolist() == [3, 6, 1]
    with torch.no_grad():
        states = model(**batch.inputs).last_hidden_state
        vectors = word_vectors(model, batch, 6)
        scores = arc_scores(model, vectors, seen_words(batch))
    pieces = (batch.words[1] == 2).nonzero().ravel()
    assert len(pieces) > 2
    assert torch.allclose(vectors[1, 3], states[1, pieces].mean(0), atol=1e-6)
    assert torch.equal(vectors[:, 0], states[:, 0]) and (vectors[2, 2:] == 0).all()
    assert torch.isinf(scores[:, torch.arange(6), torch.arange(6) + 1]).all(), "no word is its own head"
    assert torch.isinf(scores[0, :, 4:]).all() and torch.isfinite(scores[0, 0, [0, 2, 3]]).all()


def test_what_is_predicted_is_a_tree(tiny, sentences):
    encoder = with_parser(tiny, RELATIONS, seed=3)
    outputs = encoder.predict(sentences).logits
    assert outputs.shape == (3, 6, 2)
    for row, words in enumerate(WORDS):
        assert check_tree(outputs[row, : len(words), 0]) is None
        assert (outputs[row, len(words) :] == NOTHING).all()
    assert set(np.unique(outputs[..., 1])) <= {NOTHING, 0, 1, 2, 3}


def test_words_that_the_model_doesnt_read_are_counted(tiny):
    long = Examples(("a",), ("no " * 80,), words=(("no",) * 80,))
    predictions = with_parser(tiny, RELATIONS).predict(long)
    assert predictions.truncated == 1
    assert (predictions.logits[0, :62] != NOTHING).all() and (predictions.logits[0, 62:] == NOTHING).all()
    with pytest.raises(UserError, match="parses sentences whose words are marked"):
        with_parser(tiny, RELATIONS).predict(Examples(("a",), ("no",)))


READ = """
import sys
from bertscope import load, read_examples
encoder = load(sys.argv[1], device="cpu")
logits = encoder.predict(read_examples(sys.argv[2])).logits.tolist()
print(encoder.task_head, encoder.name, encoder.fingerprint, logits)
"""


@pytest.mark.slow
@on_cpu
def test_it_comes_back_bit_equal_in_another_process(tiny, sentences, tmp_path):
    encoder = with_parser(tiny, RELATIONS, seed=1, name="mine")
    folder = encoder.save(tmp_path / "parser")
    rows = [json.dumps({"id": name, "words": words}) for name, words in zip("abc", WORDS, strict=True)]
    (tmp_path / "texts.jsonl").write_text("\n".join(rows))
    finished = subprocess.run(
        [sys.executable, "-c", READ, folder, tmp_path / "texts.jsonl"], capture_output=True, text=True
    )
    wanted = f"parser mine {encoder.fingerprint} {encoder.predict(sentences).logits.tolist()}"
    assert finished.stdout.strip() == wanted, finished.stderr


def test_the_encoder_part_opens_in_plain_transformers(tiny, tmp_path):
    encoder = with_parser(tiny, RELATIONS)
    folder = encoder.save(tmp_path / "parser")
    plain = AutoModel.from_pretrained(folder)
    own = encoder.model.state_dict()
    assert not hasattr(plain, "parser")
    for name, tensor in plain.state_dict().items():
        assert torch.equal(tensor, own[name].cpu()), name
    bare = load(folder, task_head="none", device="cpu")
    assert bare.task_head == "none" and not hasattr(bare.model, "parser")
    with pytest.raises(UserError, match=r"has no classifier on top \(it is: parser\)"):
        load(folder, task_head="classifier")


def test_a_cut_encoder_keeps_its_parser(tiny, sentences, tmp_path):
    whole = with_parser(tiny, RELATIONS)
    smaller = whole.cut(["head:1.2", "layer:3"])
    again = load(smaller.save(tmp_path / "cut"), device=str(whole.device))
    assert again.task_head == "parser" and again.n_layers == 2
    assert np.array_equal(again.predict(sentences).logits, smaller.predict(sentences).logits)


def test_a_parser_is_no_part_of_what_is_put_on_the_encoder_next(tiny, tmp_path):
    parser = with_parser(tiny, RELATIONS, seed=1)
    again = with_parser(parser, RELATIONS, seed=2)
    assert not torch.equal(again.model.parser.arc_weight, parser.model.parser.arc_weight)
    assert torch.equal(
        again.model.encoder.layer[0].output.dense.weight, parser.model.encoder.layer[0].output.dense.weight
    )
    folder = with_classifier(parser, ("no", "yes")).save(tmp_path / "classifier")
    assert load(folder).task_head == "classifier"


def test_a_parser_without_its_weights_is_refused(tiny, tmp_path):
    encoder = with_parser(tiny, RELATIONS)
    notes = encoder.model.config.bertscope
    del encoder.model.parser
    folder = encoder.save(tmp_path / "parser")
    assert "parser" in notes
    with pytest.raises(UserError, match=r"lacks 10 of the model's weights, 'parser\.arc_dependent\.0\.bias' first"):
        load(folder)


def test_nothing_of_a_parser_is_left_where_the_top_is_taken_off(tiny, tmp_path):
    folder = with_parser(tiny, RELATIONS).save(tmp_path / "parser")
    left = [
        load(folder, task_head="none"),
        bare(load(folder), name="bare"),
        bare(with_classifier(load(folder), ()), name="b"),
    ]
    for place, encoder in enumerate(left):
        again = load(encoder.save(tmp_path / str(place)))
        assert again.task_head == "none" and not hasattr(encoder.model, "parser")
        assert again.fingerprint == encoder.fingerprint


def test_a_changed_classifier_leaves_nothing_behind(tiny, tmp_path):
    changed = with_classifier(tiny, ("no", "yes"), form=ClassifierForm("relu", pooler=False))
    for place, encoder in enumerate((with_parser(changed, RELATIONS), with_span_head(changed))):
        again = load(encoder.save(tmp_path / str(place)))
        assert again.fingerprint == encoder.fingerprint and again.task_head == ("parser", "span-qa")[place]
        assert not any("pooler" in name for name in encoder.model.state_dict())
