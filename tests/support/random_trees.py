"""Trees for hypothesis to draw."""

from __future__ import annotations

from hypothesis import strategies as st

from bertscope.core.examples import ROOT


@st.composite
def trees(draw, largest=40):
    """Heads of a random tree: each word hangs on one before it, then the words are shuffled."""
    count = draw(st.integers(1, largest))
    heads = [ROOT, *(draw(st.integers(0, word - 1)) for word in range(1, count))]
    order = draw(st.permutations(range(count)))
    shuffled = [ROOT] * count
    for word, head in enumerate(heads):
        shuffled[order[word]] = ROOT if head == ROOT else order[head]
    return shuffled
