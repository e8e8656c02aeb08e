"""The view of one text's attention in a browser with the network off: what it shows is what the arrays hold."""

# ruff: noqa: F811 (fixtures are imported, and are the arguments of tests)

from __future__ import annotations

import functools
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine

import bertscope
from bertscope.report.attention_levels import packed
from bertscope.report.templates import HERE
from browsing import NEEDS_CHROMIUM, browser, visit  # noqa: F401
from planted_page import HOSTILE

pytestmark = NEEDS_CHROMIUM
TEXT, PAIR = "the old man saw a dog in the garden", f"a dog was {HOSTILE} seen"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def shown(_tiny):
    """A cut model (no heads in layer 1, three in layer 2) beside the whole one, and a pair."""
    return bertscope.attention(_tiny.cut(["heads:1", "head:2.2"]), TEXT, PAIR, _tiny)


@pytest.fixture(scope="module")
def page_file(shown, tmp_path_factory) -> Path:
    return shown.page(tmp_path_factory.mktemp("page") / "attention.html")


@pytest.fixture
def opened(visit):
    def open_page(**how):
        page = visit(**how)
        page.locator(".attention[aria-busy=false]").wait_for()
        return page

    return open_page


def title(page) -> str:
    return page.locator(".one h2").inner_text()


def told(page) -> str:
    return " ".join(page.locator(".told").inner_text().split())


def colours(page, head: str) -> list[list[int]]:
    """The different colours of a head's small picture."""
    return page.locator(f"[data-head='{head}'] canvas").evaluate(
        """(canvas) => {
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
            copy.drawImage(canvas, 0, 0);
            const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
            const found = new Set();
            for (let at = 0; at < data.length; at += 4) found.add(data.slice(at, at + 4).join());
            return [...found];
        }"""
    )


def at_cell(page, panel: int, query: int, key: int, tokens: int) -> None:
    """Move the pointer over the cell; the matrix is a square at the lower right of its picture."""
    image = page.locator(".panels svg").nth(panel).locator("image")
    image.scroll_into_view_if_needed()
    box = image.bounding_box()
    page.mouse.move(box["x"] + (key + 0.5) * box["width"] / tokens, box["y"] + (query + 0.5) * box["height"] / tokens)


def test_the_grid_is_drawn_and_layers_without_heads_are_passed_over(opened, shown):
    page = opened()
    assert page.locator("[data-head]").count() == 12  # of both: a place for each head of the whole model
    assert not page.locator("[data-head='1.1'] canvas").is_visible()  # the first model's layer 1 has none
    for head in ("2.1", "3.4"):
        assert len(colours(page, head)) > 20
    page.locator("input[value='1']").check()  # the whole model
    assert page.locator("[data-head='1.1'] canvas").is_visible() and len(colours(page, "1.1")) > 20
    page.locator("input[value=difference]").check()
    assert not page.locator("[data-head='2.1'] canvas").is_visible() and len(colours(page, "3.1")) > 5
    assert title(page) == "Layer 1, head 1"
    assert page.locator(".missing").first.inner_text().endswith("has no head 1 in layer 1.")
    assert "counted in each model by itself" in page.locator(".missing").nth(1).inner_text()


def test_clicks_and_keys_choose_a_head(opened):
    page = opened(at="#head-2.3")
    assert title(page) == "Layer 2, head 3"
    page.locator("[data-head='3.4']").click()
    assert title(page) == "Layer 3, head 4" and page.url.endswith("#head-3.4")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowUp")
    assert title(page) == "Layer 2, head 3"
    assert page.evaluate("document.activeElement.dataset.head") == "2.3"
    for key in ("ArrowUp", "ArrowUp", "ArrowLeft", "ArrowLeft", "ArrowLeft"):  # not beyond the first
        page.keyboard.press(key)
    assert title(page) == "Layer 1, head 1"
    assert page.locator("[aria-current]").count() == 1


def test_the_matrix_tells_what_the_arrays_hold(opened, shown):
    page, step, n = opened(at="#head-3.2"), packed(shown).step, len(shown.tokens)
    assert page.get_by_text("Each row is a token that looks (query)").is_visible()
    first, other = shown.map(3, 2), shown.map(3, 2, other=True)
    for query, key in ((0, 0), (4, 9), (n - 1, 3)):
        at_cell(page, 1, query, key, n)
        words = page.locator(".told b").all_inner_texts()
        assert words == [shown.tokens[query], shown.tokens[key]]
        values = [text.replace("−", "-").lstrip("<+ ") for text in page.locator(".told .value").all_inner_texts()]
        wanted = (first[query, key], other[query, key], (other - first)[query, key])
        np.testing.assert_allclose([float(text) for text in values], wanted, atol=step * 1.1)


def test_cells_by_keyboard_alone(opened, shown):
    page = opened(at="#head-3.1")
    svg = page.locator(".panels svg").first
    svg.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    assert page.locator(".told b").all_inner_texts() == [shown.tokens[2], shown.tokens[1]]
    page.keyboard.press("Escape")
    assert told(page).startswith("Largest:")


def test_the_largest_weight_is_the_largest_of_both_models(opened, shown):
    page, step = opened(), packed(shown).step
    for head in (1, 2, 3, 4):
        page.evaluate(f"location.hash = 'head-3.{head}'")
        page.locator("h2", has_text=f"Layer 3, head {head}").wait_for()
        assert told(page).startswith("Largest:")
        largest = max(float(text) for text in page.locator(".told .value").all_inner_texts()[:2])
        wanted = max(shown.map(3, head).max(), shown.map(3, head, other=True).max())
        np.testing.assert_allclose(largest, wanted, atol=step * 1.1)


def test_matrices_side_by_side_fit_beside_each_other(opened):
    page = opened(at="#head-3.1")
    for width in range(600, 1500, 37):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(30)
        room, widths = page.evaluate(
            """() => [document.querySelector(".panels").clientWidth,
                      [...document.querySelectorAll(".panels figure")].map((one) => parseFloat(one.style.width))]"""
        )
        columns = 3 if room >= 900 else 2 if room >= 560 else 1
        assert len(widths) == 3 and max(widths) <= (room - 24 * (columns - 1)) / columns + 0.01, width


def test_everything_is_reached_by_tab(opened):
    page = opened(at="#head-3.1")
    page.locator("body").click(position={"x": 2, "y": 2})
    which = (
        "(({ tagName, type, dataset }) => [tagName, type, dataset.sets, dataset.head].join())(document.activeElement)"
    )
    stops = []
    for _ in range(11):
        page.keyboard.press("Tab")
        stops.append(page.evaluate(which))
    assert stops == [
        "BUTTON,button,,", "INPUT,radio,grid,", "BUTTON,button,,3.1", "INPUT,radio,as,",
        "SELECT,select-one,between,", "INPUT,checkbox,special,", "INPUT,checkbox,own,", "BUTTON,button,,",
        "svg,,,", "svg,,,", "svg,,,",
    ]  # fmt: skip


def test_lines_follow_a_token_and_the_texts(opened, shown):
    page = opened(at="#head-3.3")
    page.locator("input[value=lines]").check()
    assert page.get_by_text("(query, on the left)").is_visible()
    svg = page.locator(".panels svg").nth(1)
    lines = "(svg) => (svg.querySelector('.lines').innerHTML.match(/M/g) ?? []).length"
    n, weights = len(shown.tokens), shown.map(3, 3, other=True)
    everything = svg.evaluate(lines)
    assert n < everything <= n * n
    svg.locator("text[data-side='0'][data-token='2']").hover()
    assert svg.evaluate(lines) == (np.round(weights[2] / packed(shown).step) > 0).sum()
    most = [shown.tokens[at] for at in np.argsort(-weights[2])[:3]]
    assert page.locator(".told b").all_inner_texts()[0] == shown.tokens[2]
    assert page.locator(".told b").all_inner_texts()[-3:] == most
    page.mouse.move(2, 2)
    assert svg.evaluate(lines) == everything
    page.locator("select").select_option("first-second")
    inside = np.array(shown.in_text)
    allowed = (inside == 0).sum() * (inside == 1).sum()
    assert 0 < svg.evaluate(lines) <= allowed
    queries = svg.evaluate(
        "(svg) => [...svg.querySelector('.lines').innerHTML.matchAll(/M[\\d.]+ ([\\d.]+)/g)].map((m) => +m[1])"
    )
    assert {shown.in_text[int((y - 4) / 17)] for y in queries} == {0}
    page.locator("select").select_option("all")
    page.locator("input[data-sets=special]").uncheck()
    assert 0 < svg.evaluate(lines) <= (inside >= 0).sum() ** 2
    svg.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert told(page).startswith(f"{shown.tokens[1]} gets most from")


@pytest.mark.parametrize("way", ["matrix", "lines"])
def test_the_shown_head_is_saved_as_svg(opened, shown, way):
    page = opened(at="#head-3.2")
    page.locator(f"input[value={way}]").check()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save SVG").click()
    assert saved.value.suggested_filename == f"layer-3-head-2-{way}.svg"
    root = ElementTree.parse(saved.value.path()).getroot()
    assert root.tag == f"{SVG}svg" and "Layer 3, head 2" in root.find(f"{SVG}title").text
    panels, n = root.findall(f"{SVG}svg"), len(shown.tokens)
    assert len(panels) == 3 and {"script", "<", "&", '"'} <= {one.text for one in panels[2].iter(f"{SVG}text")}
    marks = [
        len(one.findall(f"{SVG}rect")) if way == "matrix" else len(list(one.iter(f"{SVG}path"))) for one in panels
    ]
    assert marks == [n * n + 1] * 3 if way == "matrix" else min(marks) > 3


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("way", ["matrix", "lines"])
def test_a_phone_needs_no_sideways_scroll(opened, theme, way):
    page = opened(width=390, theme=theme, at="#head-3.2")
    page.locator(f"input[value={way}]").check()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    widths = page.locator(".panels svg").evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().width)")
    assert len(widths) == 3 and all(250 < width < 390 for width in widths)


def test_dark_is_dark_and_the_button_changes_it(opened):
    page = opened(theme="dark", at="#head-3.2")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor"), colours(page, "3.2")
    page.get_by_role("button", name="Switch to light colours").click()
    light = page.evaluate("getComputedStyle(document.body).backgroundColor"), colours(page, "3.2")
    assert dark == ("rgb(16, 20, 26)", dark[1]) and light[0] == "rgb(246, 247, 249)" and not {*dark[1]} & {*light[1]}


def test_it_says_how_exact_it_is(opened, shown):
    page = opened()
    assert f"Weights are rounded to {packed(shown).step:g} here" in page.locator("ul.note").inner_text()
    assert HOSTILE in page.locator("header").inner_text()


def test_the_scripts_are_modules_that_another_page_can_import(browser, shown, tmp_path):
    """As a live page would: two views in one document, from a server on this machine."""
    quiet = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=str(HERE / "scripts")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page, complaints = browser.new_page(), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.route(
        "**/empty",
        lambda route: route.fulfill(body="<!doctype html><div></div><div></div>", content_type="text/html"),
    )
    page.goto(f"http://127.0.0.1:{server.server_port}/empty")
    found = page.evaluate(
        """async () => {
            const { Maps } = await import("/attention/maps.js");
            const { attentionView } = await import("/attention/view.js");
            const palette = { surface: "#ffffff", ink: "#000000", muted: "#555555", grid: "#eeeeee",
                              sequential: ["#ffffff", "#000000"], diverging: ["#ff0000", "#ffffff", "#0000ff"] };
            return [...document.querySelectorAll("div")].map((element, place) => {
                const levels = Uint8Array.of(1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 0);
                const one = new Maps({ name: "m", shape: [2, 1], levels, size: 2, step: 1 });
                const view = attentionView(element, { tokens: ["a", "b"], inText: [0, 0], step: 1, models: [one],
                                                      palettes: { light: palette } }, { theme: () => "light" });
                view.draw();
                view.show(1, place + 1);
                return element.querySelector("h2").textContent + " " + element.querySelector(".told").textContent;
            });
        }"""
    )
    page.close()
    server.shutdown()
    assert complaints == []
    assert found == [
        "Layer 1, head 1 Largest: a attends to a: 1.000",
        "Layer 1, head 2 Largest: a attends to b: 1.000",
    ]
