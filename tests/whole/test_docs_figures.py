"""The pictures on the questions' pages: each has one that says what it is of, small and with words in it."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("cyclopts")  # not on the bare GPU machine
from bertscope.study.file import read_study
from planted_figures import texts_figure, texts_table
from question_figures import FIGURES, NONE, with_picture
from question_pages import PAGES, QUESTIONS
from tinted_svg import tinted_svg

ASKED_BY = {name: study for study, figures in FIGURES.items() for name in figures}
_MOST = 80_000
"""Bytes of a picture."""


def test_every_question_has_a_picture_or_is_known_to_have_none():
    assert sum(map(len, FIGURES.values())) == len(ASKED_BY), "a question is drawn twice"
    assert {question.name for question in QUESTIONS} == {*ASKED_BY, *NONE}
    assert {file.stem for file in (PAGES / "figures").iterdir()} == set(ASKED_BY), "run: make figures"


@pytest.mark.parametrize("name", NONE)
def test_a_page_without_a_picture_says_so(name):
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert "There is none" in text and "figures/" not in text


@pytest.mark.parametrize("name", ASKED_BY)
def test_the_picture_is_on_the_page_with_what_it_is_of(name):
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    title = text.partition("![")[2].partition("](figures/")[0]
    assert title and text == with_picture(text, ASKED_BY[name], name, title), "run: make figures"


@pytest.mark.parametrize("name", ASKED_BY)
def test_the_picture_is_small_and_has_words_and_marks(name):
    file = PAGES / "figures" / f"{name}.svg"
    assert file.stat().st_size < _MOST
    picture = ElementTree.parse(file).getroot()
    kinds = [element.tag.rpartition("}")[2] for element in picture.iter()]
    words = "".join(picture.itertext())
    assert kinds.count("text") > 4 and kinds.count("path") + kinds.count("rect") > 5
    assert "NaN" not in words and "undefined" not in words and "null" not in words


def test_a_picture_takes_the_place_of_the_one_before():
    page = "## Reading the figure\n\nSo.\n\n## Pitfalls\n\n- One.\n"
    once = with_picture(page, "whole", "ablate", "Heads")
    assert "\n\n![Heads](figures/ablate.svg)\n\n*Drawn from the built-in model" in once
    assert with_picture(once, "whole", "ablate", "Heads") == once
    assert with_picture(with_picture(once, "short", "ablate", "Others"), "whole", "ablate", "Heads") == once


def test_the_whole_models_study_asks_for_its_figures():
    study = read_study(Path(__file__).parents[1] / "support" / "figures-whole.yaml", [])
    assert {step.name for step in study.steps} | {"finetune"} == set(FIGURES["whole"])


def test_texts_are_drawn_with_their_colours():
    picture = tinted_svg(texts_figure(), texts_table(), most=2)
    root = ElementTree.fromstring(picture)
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[:4] == ["Which words made it", "positive", "a", "good"] and "<script>alert('x')</script>" in texts
    assert "rgb(61 130 196 / 60%)" in picture and "rgb(222 120 30 / 45%)" in picture
    assert picture.count("stroke-dasharray") == 3  # "not", "bad" and, at a tenth of the strongest, "&amp;"
