"""The live page in use: by keyboard, on a phone, in the dark, with odd texts, and when the server can't answer."""

# ruff: noqa: F401, F811 (fixtures are imported, and are the arguments of tests)

from __future__ import annotations

import pytest

pytest.importorskip("fastapi")

from live_page import NEEDS_CHROMIUM, TEXT, browser, checkpoints, explorer, given, read, server, settled, shown, visit
from planted_page import HOSTILE

pytestmark = NEEDS_CHROMIUM
SENTENCE = {"text": "Sentence", "exact": True}


@pytest.mark.slow
def test_everything_by_keyboard_alone(visit, checkpoints):
    page = visit()
    focused = "document.activeElement.getAttribute('aria-label') || document.activeElement.id || ''"

    def tab_to(wanted: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate(focused).startswith(wanted):
                return
        raise AssertionError(f"no way to {wanted!r} by Tab")

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the skip button
    assert page.evaluate("document.activeElement.id") == "read-text"
    page.keyboard.press("Control+a")
    page.keyboard.type(TEXT)
    page.keyboard.press("Enter")
    settled(page)
    tab_to("the: change this word")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == "old: change this word"
    page.keyboard.press("Enter")
    assert page.evaluate(focused) == "Another word for old"
    page.keyboard.press("Escape")
    tab_to("Layer 1, head 1")
    for key in ("ArrowDown", "ArrowRight", "x"):
        page.keyboard.press(key)
    settled(page)
    assert page.evaluate(focused).startswith("Layer 2, head 2") and page.evaluate(focused).endswith("switched off")
    assert max(shown(page, 0).values()) == pytest.approx(max(given(checkpoints[0], TEXT, ["head:2.2"])), abs=1e-5)
    tab_to("MLP 1")
    page.keyboard.press("Enter")
    settled(page)
    assert page.evaluate(focused) == "MLP 1, switched off"
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    settled(page)
    assert page.locator("[data-chip]").count() == 0
    assert page.locator("#spoken").inner_text().count("before the switches") == 0


def test_parts_are_typed_as_the_page_writes_them(visit):
    page = visit()
    page.get_by_placeholder("head:4.2").fill("head 2.3, MLP 1 layer:2")
    page.keyboard.press("Enter")
    settled(page)
    chips = page.locator("[data-chip]").evaluate_all("(all) => all.map((one) => one.dataset.chip)")
    assert sorted(chips) == ["head:2.3", "layer:2", "mlp:1"]


@pytest.mark.slow
def test_every_control_has_a_name(visit):
    page = visit()
    page.get_by_role("button", name="Take a row").click()
    page.locator("dialog .row").first.wait_for()
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, textarea, [role=button], summary")]
            .filter((one) => !(one.getAttribute("aria-label") || one.labels?.length || one.textContent.trim()
                               || one.getAttribute("aria-labelledby")))
            .map((one) => one.outerHTML)"""
    )
    assert nameless == []


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scroll(visit, theme):
    page = visit(width=390, theme=theme)
    read(page, " ".join([TEXT] * 4))
    page.locator("[data-sets=act][value=off]").check()
    page.locator("[data-head='2.2']").click()
    page.locator("#several").fill("a text\nanother one")
    page.get_by_role("button", name="Add these").click()
    page.locator("[data-model='0'] .word").nth(2).click()
    page.keyboard.type("woman")
    page.keyboard.press("Enter")
    settled(page)
    for way in ("lines", "matrix"):
        page.locator(f"[data-sets=as][value={way}]").check()
        assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.get_by_role("button", name="Take a row").click()
    page.locator("dialog .row").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.locator("[data-head='1.1']").bounding_box()["width"] > 16
    brief = page.locator(".brief").inner_text()  # answers stay in sight while one switches
    assert all(f"{max(shown(page, place).values()):.3f}" in brief for place in (0, 1))


@pytest.mark.slow
def test_dark_is_dark_and_readable(visit):
    page = visit(theme="dark")
    contrast = """() => {
        const parts = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
        const light = (colour) => parts(colour).map((one) => one / 255)
            .map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
            .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
        return [...document.querySelectorAll(".word > span")].map((one) => {
            const { color, backgroundColor } = getComputedStyle(one);
            const [more, less] = [light(color), light(backgroundColor)].sort((a, b) => b - a);
            return (more + 0.05) / (less + 0.05);
        });
    }"""
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert min(page.evaluate(contrast)) > 4.5
    page.get_by_role("button", name="Switch to light colours").click()
    settled(page)
    assert dark == "rgb(16, 20, 26)"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(246, 247, 249)"
    assert min(page.evaluate(contrast)) > 4.5


ODD = {
    "html": "<img src=x onerror=alert(1)> &amp; <b>bold</b>",
    "script": HOSTILE,
    "long": "a" * 3000,
    "letters": "\U0001f600 \u05e9\u05dc\u05d5\u05dd \ud55c\uae00",
}


@pytest.mark.parametrize(
    "text", [pytest.param(text, id=name, marks=[pytest.mark.slow] * (name != "html")) for name, text in ODD.items()]
)
def test_texts_are_shown_as_texts(visit, text):
    page = visit()
    page.on("dialog", lambda _: pytest.fail("a text has run"))
    read(page, text)
    assert page.locator("[data-model='0'] .shown").inner_text() == text
    assert page.locator("main img, main script, main b:not(.told b):not(.carriers b)").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == 1280
    page.locator("[data-model='0'] .word").last.click()
    page.keyboard.type("<i>x")
    page.keyboard.press("Enter")
    settled(page)
    assert page.locator(".texts ins").inner_text() == "<i>x"
    assert visit(at=page.url.partition(server_token(page))[2]).get_by_label(**SENTENCE).input_value() == text


def server_token(page) -> str:
    return page.evaluate("new URLSearchParams(location.hash.slice(1)).get('token')")


@pytest.mark.slow
def test_busy_is_asked_again_and_superseded_is_dropped(visit, checkpoints):
    page, times = visit(), {"look": 0}
    answers = [(503, "busy: others are being answered"), (429, "too many requests")]

    def sometimes(route):
        times["look"] += 1
        if times["look"] > len(answers):
            return route.continue_()
        status, error = answers[times["look"] - 1]
        return route.fulfill(status=status, json={"error": error})

    page.route("**/api/look", sometimes)
    field = page.get_by_label(**SENTENCE)
    field.fill(TEXT)
    field.press("Enter")
    page.locator("#state", has_text="Busy").wait_for()
    settled(page)
    assert max(shown(page, 0).values()) == pytest.approx(max(given(checkpoints[0], TEXT)), abs=1e-5)
    assert times["look"] == 3 and not page.locator(".banner").is_visible()
    page.route("**/api/look", lambda route: route.fulfill(status=409, json={"error": "superseded"}))
    before = shown(page, 0)
    page.locator("[data-head='1.1']").click()
    page.keyboard.press("x")
    settled(page)
    assert shown(page, 0) == before and not page.locator(".banner").is_visible()


@pytest.mark.slow
def test_a_server_that_is_gone_is_said_and_asked_again(visit, checkpoints):
    page = visit()
    page.route("**/api/*", lambda route: route.abort())
    field = page.get_by_label(**SENTENCE)
    field.fill(TEXT)
    field.press("Enter")
    page.locator(".banner", has_text="Is it still running").wait_for()
    page.unroute("**/api/*")
    page.get_by_role("button", name="Try again").click()
    settled(page)
    page.locator(".banner").wait_for(state="hidden")
    assert max(shown(page, 0).values()) == pytest.approx(max(given(checkpoints[0], TEXT)), abs=1e-5)


def test_a_wrong_token_is_said_in_a_line(visit, server):
    page = visit(url=server.url.partition("#")[0] + "#token=wrong", ready=False)
    page.locator(".banner", has_text="open the link that bertscope printed").wait_for()
    assert not page.locator(".bench").is_visible()


def test_it_is_light_and_opens_quickly(visit, browser, server):
    visit()  # what is the same for all is in the server's memory
    with browser.new_context() as context:
        page, sizes = context.new_page(), []
        page.on("response", lambda one: sizes.append(int(one.headers.get("content-length", 0))))
        page.goto(server.url)
        settled(page)
        painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert 50_000 < sum(sizes) < 500_000
    assert painted < 1000
