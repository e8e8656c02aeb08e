"""A vocabulary that is learnt: which characters are pieces, and how rows are told apart by it."""

from __future__ import annotations

from bertscope.models.new_vocabulary import SPECIAL, learn_vocabulary

LINES = ["the cat sat on the mat.", "a caf\u00e9 on the mat."] * 5000 + ["\u570b\u4e0b \u0431\u044b\u043b \u2603"] * 2


def learnt(*, cased: bool = False, lines=LINES) -> set[str]:
    gone_through = []

    def again():
        gone_through.append(1)
        return iter(lines)

    tokenizer = learn_vocabulary(again, 400, cased=cased, longest=32)
    assert len(gone_through) == 2
    return set(tokenizer.get_vocab()) - set(SPECIAL)


def test_characters_that_hardly_occur_are_no_pieces():
    """Six characters are one in 20,000 of this text; each would be a piece, and one more inside of words."""
    found = learnt()
    assert {"the", "cat", "mat", "."} <= found
    assert not any(one in piece for one in "\u570b\u4e0b\u0431\u044b\u043b\u2603" for piece in found)


def test_frequent_ones_of_another_script_are():
    found = learnt(lines=["\u0431\u044b\u043b \u0431\u044b\u043b"] * 500)
    assert {"\u0431", "\u0431\u044b\u043b"} <= found


def test_characters_are_counted_as_they_are_read():
    """Without its accent, a letter is the one that is there already; with it, it is another."""
    assert "caf\u00e9" in learnt(cased=True) and "cafe" in learnt() and "\u00e9" not in learnt()
