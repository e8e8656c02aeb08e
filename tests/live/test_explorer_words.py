"""What words did with parts changed, and which part carries the difference that a word makes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.units import Unit
from bertscope.live import explaining
from bertscope.live.checkpoints import TypedMasks
from bertscope.live.explorer import Explorer
from bertscope.live.messages import AskRows, Change, Explain, Patch, Reading
from bertscope.models.attribution import METHODS, attribute
from bertscope.models.outputs.kinds import own_output
from explored import another, with_layers_of
from plain_patching import logits_of, plain_patch
from planted_kinds import PLANTED

TEXT = "the old man by the river was never seen again"
ONE = Examples(("1",), (TEXT,))


def values(explanation):
    return [word.value for word in explanation.words]


@pytest.mark.parametrize("method", METHODS)
def test_without_parts_words_do_what_they_do_in_a_model_that_was_cut(tiny, method):
    off = ["head:1.2", "head:3.1", "mlp:2", "layer:3"]
    found = Explorer.open(tiny).explain(Explain(Reading(TEXT), [Change(off)], method)).seen[0]
    cut = tiny.cut(off)
    wanted = attribute(cut, own_output(cut, pairs=False), ONE, method=method)
    np.testing.assert_allclose(values(found), wanted.values, atol=1e-5)
    assert (found.whole, found.baseline) == pytest.approx((wanted.whole[0], wanted.baseline[0]), abs=1e-5)
    assert tuple(TEXT[word.start : word.end] for word in found.words) == wanted.text
    plain = Explorer.open(tiny).explain(Explain(Reading(TEXT), [], method)).seen[0]
    assert np.abs(np.subtract(values(plain), values(found))).max() > 1e-3


def test_with_a_layer_of_the_other(tiny):
    other = another(tiny)
    change = Change(["head:3.1"], graft=["layer:1"])
    found = Explorer.open(tiny, other).explain(Explain(Reading(TEXT), [change, change], "gradient")).seen
    for one, (own, lent) in zip(found, ((tiny, other), (other, tiny)), strict=True):
        mixed = with_layers_of(own, lent, [0]).cut(["head:3.1"])
        wanted = attribute(mixed, own_output(mixed, pairs=False), ONE, method="gradient")
        np.testing.assert_allclose(values(one), wanted.values, atol=1e-5)


@pytest.mark.parametrize("mode", ["uniform", "mean"])
def test_other_ways_off(toy_model, toy_task, mode):
    explorer = Explorer.open(toy_model, None, toy_task)
    reading = explorer.rows(AskRows(order="file", count=1)).rows[0].reading
    found = explorer.explain(Explain(reading, [Change(["head:2.1", "mlp:1"], mode)], "leave_out")).seen[0]
    reference = toy_model.means(toy_task.validation, toy_task.output) if mode == "mean" else None
    with toy_model.gates(off=["head:2.1", "mlp:1"], mode=mode, reference=reference):
        wanted = attribute(toy_model, toy_task.output, toy_task.test.take([0]), method="leave_out")
    np.testing.assert_allclose(values(found), wanted.values, atol=1e-5)


def test_a_label_that_is_asked_for(tiny):
    explorer = Explorer.open(tiny)
    one, two = (explorer.explain(Explain(Reading(TEXT), method="gradient", towards=label)).seen[0]
                for label in tiny.labels)  # fmt: skip
    assert (one.explained, two.explained) == tiny.labels
    np.testing.assert_allclose(values(one), [-value for value in values(two)], atol=1e-6)


@pytest.mark.parametrize("kind", PLANTED)
def test_whatever_is_said_can_be_explained(_pocket, kind):
    """The first word, whose sign decides, did most; of each kind one thing is explained, of words any of them."""
    planted = PLANTED[kind]
    model = planted.model(_pocket.tokenizer)
    explorer = Explorer.open(model, None, planted.task(6))
    reading = Reading("long long [MASK]") if kind == "masked" else explorer.about().example
    found = explorer.explain(Explain(reading, method="leave_out")).seen[0]
    assert found.words and np.isfinite(values(found)).all()
    texts = [reading.text, *([reading.pair] if reading.pair else reading.choices)]
    assert all(texts[word.side][word.start : word.end].strip() for word in found.words)
    if kind in ("tokens", "trees"):
        second = explorer.explain(Explain(reading, method="leave_out", word=2)).seen[0]
        assert second.explained.split()[-1] == reading.text.split()[1]
    if kind in ("classification", "regression", "one_logit", "tokens"):
        strongest = max(found.words, key=lambda word: abs(word.value))
        assert reading.text[: strongest.end] == reading.text.split()[0]


def test_one_of_two_that_lacks_a_label_is_noted(tiny, _pocket):
    other = PLANTED["classification"].model(_pocket.tokenizer)
    found = Explorer.open(other, tiny).explain(Explain(Reading(TEXT), method="gradient", towards="good"))
    assert found.seen[0].explained == "good" and found.seen[1] is None and "no label 'good'" in found.notes[0]


def test_of_several_masks_the_surest_alone_is_explained(_pocket, monkeypatch):
    """All of them would take as many times as long, and one is told."""
    text, asked = "the [MASK] saw the [MASK] near the [MASK] .", []

    def counted(encoder, output, examples, targets, **how):
        asked.append(len(targets))
        return attribute(encoder, output, examples, targets, **how)

    monkeypatch.setattr(explaining, "attribute", counted)
    for method in ("leave_out", "gradient"):
        found = Explorer.open(_pocket).explain(Explain(Reading(text), method=method)).seen[0]
        every = attribute(_pocket, TypedMasks(_pocket), Examples(("1",), (text,)), method=method)
        surest = int(every.probability.argmax())
        assert found.explained == every.explained[surest] and len(every) == 3
        assert [one.value for one in found.words] == pytest.approx(every.of(surest), abs=1e-4)
    assert asked == [1, 1]


def test_words_that_dont_add_up_are_said_to(tiny, monkeypatch):
    """With one point alone the gradient of random weights is far off; long texts have fewer points than others."""
    explorer = Explorer.open(tiny)
    assert explorer.explain(Explain(Reading(TEXT))).notes == []
    given = []

    def few(*asked, most_nodes, **how):
        given.append(most_nodes)
        return attribute(*asked, nodes=1, most_nodes=1, **how)

    monkeypatch.setattr(explaining, "attribute", few)
    (note,) = Explorer.open(tiny).explain(Explain(Reading(TEXT))).notes
    assert "misses its sum" in note
    Explorer.open(tiny).explain(Explain(Reading("word " * 60)))
    assert given == [512, 2**14 // 62]


def test_of_a_mask_alone_no_word_can_be_told(_pocket):
    with pytest.raises(UserError, match="nothing to explain"):
        Explorer.open(_pocket).explain(Explain(Reading("[MASK]")))


# Patching


@pytest.fixture(scope="module")
def planted(_pocket):
    return PLANTED["classification"].model(_pocket.tokenizer)


GOOD, BAD = Reading("kind by long road"), Reading("cruel by long road")


def test_the_planted_heads_carry_the_difference(planted):
    found = Explorer.open(planted).patch(Patch(GOOD, BAD))
    shares = {one.part: one.restored for one in found.parts}
    assert found.answers == ["good", "bad"] and found.clean > 0 > found.corrupted
    for part in ("head:1.2", "head:2.3"):
        assert shares[part] == pytest.approx(1, abs=0.05)
    others = [share for part, share in shares.items() if part.startswith(("head", "mlp"))
              and part not in ("head:1.2", "head:2.3")]  # fmt: skip
    assert np.abs(others).max() < 0.05
    # The rest of the layers carry all or nothing by construction.
    assert [part for part in shares if part.startswith("layer")] == ["layer:1@changed"]
    assert [token.text for token in found.tokens[0]][1] == "kind"


def test_shares_are_those_of_patching_in_the_plain_way(tiny):
    """Every part of a model whose weights are random, by torch's hooks alone."""
    words = [word for word in sorted(tiny.tokenizer.get_vocab()) if word.isalpha()][::40]
    texts = [f"{word} was seen" for word in words]
    answers = tiny.predict(texts).logits.argmax(1)
    answer, first, second = answers[0], texts[0], texts[int((answers != answers[0]).argmax())]
    found = Explorer.open(tiny).patch(Patch(Reading(first), Reading(second)))

    def difference(logits):
        return float(logits[0, answer] - logits[0, 1 - answer])

    clean, corrupted = (difference(logits_of(tiny, [text])) for text in (first, second))
    assert (found.clean, found.corrupted) == pytest.approx((clean, corrupted), abs=1e-5)
    tokens = len(found.tokens[0])
    changed = torch.tensor([[one.text != other.text for one, other in zip(*found.tokens, strict=True)]])
    assert changed.sum() == 1 and len(found.parts) == 3 * 4 + 3 + 2
    for one in found.parts:
        part, _, role = one.part.partition("@")
        at = changed if role else torch.ones(1, tokens, dtype=torch.bool)
        patched = difference(plain_patch(tiny, [second], [first], Unit.parse(part), at.to(tiny.device)))
        assert one.restored == pytest.approx((patched - corrupted) / (clean - corrupted), abs=1e-4), one.part


def test_the_other_checkpoint_is_patched(planted):
    explorer = Explorer.open(planted, another(planted, 1e-3))
    assert explorer.patch(Patch(GOOD, BAD, 1)).answers == ["good", "bad"]


def test_masked_words_are_patched(_pocket):
    """The words that are tried are common ones: some change what is guessed."""
    explorer, found = Explorer.open(_pocket), []
    for word in ("dog", "door", "book", "king", "river"):
        try:
            found.append(
                explorer.patch(Patch(Reading("the man saw the [MASK] ."), Reading(f"the {word} saw the [MASK] .")))
            )
        except UserError as error:
            assert "alike" in str(error)
    assert found
    for one in found:
        shares = {part.part: part.restored for part in one.parts}
        assert "layer:11@changed" in shares and "layer:12@changed" not in shares and "layer:12" not in shares
        assert one.answers[0] != one.answers[1]
        assert one.clean > 0 > one.corrupted
