"""Texts with coloured words: on the page, in a notebook, on a terminal, as a file."""

# ruff: noqa: F811 (fixtures are imported, and are the arguments of tests)

from __future__ import annotations

import io
import re
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine

from bertscope.core.console import Console
from bertscope.core.errors import UserError
from bertscope.core.result import Result
from bertscope.core.tinted import MOST, UNFOLDED, Tinted, tinted_html, tinted_lines
from bertscope.report.build import build_report
from bertscope.report.charts import save_figure
from bertscope.report.export import export_report
from browsing import NEEDS_CHROMIUM, browser, visit  # noqa: F401
from planted_figures import texts_figure, texts_table
from planted_page import models, put


def answer() -> Result:
    tables = {"words": texts_table()}
    return Result("explain", 1, tables, figures=[texts_figure()], models=models(), subject={"task": "demo/sentiment"})


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    store = tmp_path_factory.mktemp("store")
    put(store, answer())
    return build_report(store, store / "page.html")


def words(html: str) -> list[tuple[str, float, str, str]]:
    found = re.findall(r'<i (?:tabindex=0 )?class="([^"]*)" style="--s:([\d.]+)" data-by="([^"]*)">(.*?)</i>', html)
    return [(kind, float(share), by, word) for kind, share, by, word in found]


def test_each_word_says_its_number_its_sign_and_its_share_of_the_strongest():
    html = tinted_html(texts_figure(), texts_table())
    assert words(html)[:6] == [
        ("", 0.0, "0", "a"), ("for seen", 1.0, "+2.000", "good"), ("for seen", 0.15, "+0.300", "film"),
        ("", 0.0, "0", ","), ("against seen", 0.3, "-0.600", "not"), ("against seen", 0.75, "-1.500", "bad"),
    ]  # fmt: skip
    assert html.count("<li>") == 5, "a text with two things to explain is there twice"
    assert html.index("positive") < html.index(">good<")


def test_whatever_a_text_holds_is_escaped_and_a_long_one_is_folded():
    html = tinted_html(texts_figure(), texts_table())
    assert "<script" not in html and "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;" in html
    assert "&amp;amp;" in html and "&lt;b&gt;negative" in html
    assert html.count("<details>") == 1 and f"{300 - UNFOLDED} more words" in html
    assert html.count('dir="auto"') == 6
    nothing = [share for _, share, _, word in words(html) if word == "טוב"]
    assert nothing == [1.0, 0.0], "where all are 0, none is strong"


def test_only_the_first_texts_are_shown_and_the_rest_is_counted():
    one = texts_table().query("row == 'test:1'")
    many = pd.concat([one.assign(row=f"test:{number}") for number in range(MOST + 5)])
    html = tinted_html(texts_figure(), many)
    assert html.count("<li>") == MOST and "<code>words</code> has 5 more" in html
    assert f"test:{MOST - 1}<" in html and f"test:{MOST}<" not in html


def test_a_notebook_shows_the_texts_first_and_needs_no_script():
    html = answer()._repr_html_()
    assert html.index('<ul class="tinted">') < html.index("tables: words")
    assert "<script" not in html and "http" not in html and "<style>" in html
    assert isinstance(answer().plot("texts"), Tinted) and answer().plot("texts")._repr_html_() in html


def test_files_are_html_and_other_endings_are_refused(tmp_path):
    written = save_figure(texts_figure(), texts_table(), tmp_path / "texts.html").read_text(encoding="utf-8")
    assert written.startswith("<!doctype html>") and "Blue words are for it." in written and "<script" not in written
    with pytest.raises(UserError, match=r"texts\.svg: a figure of texts is saved as \.html"):
        save_figure(texts_figure(), texts_table(), tmp_path / "texts.svg")


def test_an_export_writes_them_once_and_links_them(tmp_path):
    put(tmp_path / "store", answer())
    index = export_report(tmp_path / "store", tmp_path / "out", formats=["svg"])
    assert [path.name for path in index.parent.rglob("which-words*")] == ["which-words-made-it.html"]
    assert "which-words-made-it.html" in index.read_text(encoding="utf-8")


def lines(**how) -> list[str]:
    stream, colours = io.StringIO(), how.get("force_terminal", False)
    console = Console(file=stream, width=100, **how)
    for line in tinted_lines(texts_figure(), texts_table(), colours=colours):
        console.print(line, soft_wrap=True)
    return stream.getvalue().splitlines()


def test_a_terminal_without_colours_has_numbers_behind_the_stronger_words():
    assert lines()[:4] == [
        "test:1: positive",
        "a good[+2.000] film , not[-0.600] bad[-1.500]",
        "test:2: <b>negative</b>",
        "<script>alert('x')</script>[+0.500] &amp; dull[+1.000]",
    ]
    assert lines()[-1].endswith("word59[-0.605] ... 240 more words")


def test_a_terminal_is_told_how_many_texts_it_does_not_show():
    one = texts_table()[lambda table: table["row"] == "test:1"]
    table = pd.concat([one.assign(row=f"test:{place}") for place in range(8)])
    said = [line.plain for line in tinted_lines(texts_figure(), table, colours=False)]
    assert len(said) == 2 * 5 + 1 and said[-1] == "... 3 more texts"


def test_a_terminal_with_colours_has_the_sign_in_colour_and_line():
    said = lines(force_terminal=True, color_system="truecolor")[1]
    assert "\x1b[1;4;37;48;2;0;114;178mgood\x1b[0m" in said, "bold and underlined on blue"
    assert "\x1b[1;37;48;2;179;71;0mbad\x1b[0m" in said and "\x1b[30;48;2;244;183;122mnot\x1b[0m" in said
    assert "[+" not in said and " film " in said


def test_control_characters_of_a_text_stay_harmless():
    table = texts_table().assign(text="\x1b[2Jno\nline \u202ex", of="a\x1b]0;b")
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, color_system="truecolor", width=200)
    for line in tinted_lines(texts_figure(), table.head(6), colours=True):
        console.print(line)
    said = stream.getvalue()
    assert "\x1b[2J" not in said and "\x1b]" not in said and "\u202e" not in said
    assert "\\u001b[2Jno line \\u202ex" in said


@pytest.mark.parametrize(("colours", "environment"), [(False, {"NO_COLOR": "1"}), (True, {})])
def test_the_answer_on_a_terminal_respects_no_color(monkeypatch, capsys, colours, environment):
    from bertscope.cli.answer import print_answer

    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"FORCE_COLOR": "1", "COLORTERM": "truecolor", "TERM": "xterm"} | environment).items():
        monkeypatch.setenv(name, value)
    print_answer(answer())
    said = capsys.readouterr().out
    assert ("48;2;0;114;178" in said) == colours and ("good[+2.000]" in said) != colours


@NEEDS_CHROMIUM
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_are_coloured_and_readable_on_the_page(visit, theme):
    page = visit(theme=theme)
    good, bad, plain = (page.locator(".tinted i", has_text=word).first for word in ("good", "bad", "film"))
    styles = [
        each.evaluate(
            "e => { const s = getComputedStyle(e); return [s.backgroundColor, s.textDecorationStyle, s.color] }"
        )
        for each in (good, bad, plain)
    ]
    assert styles[0][0] == "rgba(61, 130, 196, 0.6)" and styles[1][0] == "rgba(222, 120, 30, 0.45)"
    assert [each[1] for each in styles] == ["solid", "dotted", "solid"]
    surface = page.locator("article").first.evaluate("e => getComputedStyle(e).backgroundColor")
    for tint, _, ink in styles:
        assert contrast(blend(tint, surface), numbers(ink)) >= 4.5


@NEEDS_CHROMIUM
def test_the_number_shows_under_the_mouse_and_by_the_keyboard(visit):
    page = visit(width=390)
    good = page.locator(".tinted i", has_text="good").first
    after = "e => getComputedStyle(e, '::after').content"
    assert good.evaluate(after) == "none"
    good.hover()
    assert good.evaluate(after) == '"+2.000"'
    page.mouse.move(0, 0)
    page.locator(".tinted i[tabindex]").first.focus()
    page.keyboard.press("ArrowRight")
    assert good.evaluate("e => e === document.activeElement") and good.evaluate(after) == '"+2.000"'
    page.keyboard.press("ArrowLeft")
    assert page.locator(".tinted li, .tinted > li").first.locator("i[tabindex]").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@NEEDS_CHROMIUM
def test_right_to_left_is_read_so_and_a_long_text_unfolds(visit):
    page = visit()
    hebrew = page.locator(".tinted li", has_text="סרט").first.locator("p")
    assert hebrew.evaluate("e => getComputedStyle(e).direction") == "rtl"
    first, second = (hebrew.locator("i").nth(place).bounding_box()["x"] for place in (0, 1))
    assert first > second
    long = page.locator(".tinted li", has_text="word299")
    assert not long.locator("i", has_text="word299").is_visible()
    long.locator("summary").click()
    assert long.locator("i", has_text="word299").is_visible()


def numbers(colour: str) -> list[float]:
    return [float(part) for part in re.findall(r"[\d.]+", colour)]


def blend(over: str, under: str) -> list[float]:
    *top, alpha = (*numbers(over), 1.0)[:4]
    return [alpha * one + (1 - alpha) * other for one, other in zip(top, numbers(under), strict=False)]


def contrast(one: list[float], other: list[float]) -> float:
    """As WCAG has it."""
    light = []
    for colour in (one, other):
        parts = [part / 255 for part in colour[:3]]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        light.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(light) + 0.05) / (min(light) + 0.05)
