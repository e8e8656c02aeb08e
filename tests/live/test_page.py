"""The live page in Chromium: what it shows is what the library gives."""

# ruff: noqa: F401, F811 (fixtures are imported, and are the arguments of tests)

from __future__ import annotations

import json
import struct
import zlib
from xml.etree import ElementTree

import pytest

pytest.importorskip("fastapi")

from live_page import NEEDS_CHROMIUM, TEXT, browser, checkpoints, explorer, given, read, server, settled, shown, visit

pytestmark = NEEDS_CHROMIUM
CLOSE = 1e-5
SVG = "{http://www.w3.org/2000/svg}"


def agree(page, checkpoints, labels, text=TEXT, off=((), ()), **how):
    for place, encoder in enumerate(checkpoints):
        wanted = dict(zip(labels, given(encoder, text, off[place], **how), strict=True))
        assert shown(page, place) == pytest.approx(wanted, abs=CLOSE)


@pytest.fixture(scope="module")
def labels(explorer):
    return explorer.about().checkpoints[0].labels


def test_both_answers_are_the_librarys_and_follow_the_text(visit, checkpoints, labels, explorer):
    page = visit()
    agree(page, checkpoints, labels, explorer.about().example.text)
    read(page, TEXT)
    agree(page, checkpoints, labels)
    said = page.locator("#spoken").inner_text()
    assert all(encoder.name in said for encoder in checkpoints) and "before the switches" not in said
    words = page.locator("[data-model='0'] .word")
    assert words.all_inner_texts() == TEXT.split()
    colours = words.locator("span").evaluate_all("(all) => all.map((one) => one.style.backgroundColor)")
    assert len(colours) == len(TEXT.split()) and len(set(colours)) > 3


def test_a_head_is_switched_off_and_on_again(visit, checkpoints, labels):
    page = visit()
    read(page, TEXT)
    before = shown(page, 0), shown(page, 1)
    page.locator("[data-head='2.3']").click()
    page.keyboard.press("x")
    settled(page)
    agree(page, checkpoints, labels, off=(["head:2.3"], ["head:2.3"]))
    assert max(abs(shown(page, 0)[label] - before[0][label]) for label in labels) > 0.001  # it can be seen
    assert page.locator("[data-chip]").all_inner_texts() == ["head 2.3\nin A and B\n✕"]
    assert page.locator(".head-card h2").inner_text() == "What is known of head 2.3"
    assert page.locator("[data-head='2.3']").get_attribute("aria-label").endswith("switched off")
    page.keyboard.press("Control+z")
    settled(page)
    assert (shown(page, 0), shown(page, 1)) == before and page.locator("[data-chip]").count() == 0
    page.keyboard.press("Control+Shift+z")
    settled(page)
    agree(page, checkpoints, labels, off=(["head:2.3"], ["head:2.3"]))
    page.locator("[data-chip='head:2.3']").click()
    settled(page)
    assert (shown(page, 0), shown(page, 1)) == before


@pytest.mark.slow
def test_mlps_and_layers_in_one_checkpoint_and_another_way_to_be_off(visit, checkpoints, labels):
    page = visit()
    read(page, TEXT)
    page.locator("[data-sets=where][value='0']").check()
    page.locator("[data-part='mlp:1']").click()
    page.locator("[data-sets=where][value='1']").check()
    page.locator("[data-part='layer:3']").click()
    page.locator("[data-sets=act][value=off]").check()
    page.locator("[data-head='1.4']").click()
    settled(page)
    agree(page, checkpoints, labels, off=(["mlp:1"], ["layer:3", "head:1.4"]))
    page.locator("#mode").select_option("uniform")
    settled(page)
    agree(page, checkpoints, labels, off=(["mlp:1"], ["layer:3", "head:1.4"]), mode="uniform")
    page.get_by_role("button", name="Clear all").click()
    settled(page)
    agree(page, checkpoints, labels)


@pytest.mark.slow
def test_maps_under_a_switch_stay_and_those_above_follow(visit, explorer):
    from bertscope.live.messages import Change, LookAt, Reading

    page = visit()
    read(page, TEXT)
    told = "() => [...document.querySelectorAll('.told .value')].map((one) => one.textContent)"

    def largest(head):
        page.locator(f"[data-head='{head}']").click()
        page.wait_for_function(f"document.querySelector('.one h2').textContent === 'Layer {head[0]}, head {head[2]}'")
        return [float(one.replace("−", "-")) for one in page.evaluate(told)]

    before = {head: largest(head) for head in ("1.2", "3.2")}
    page.locator("#part").fill("head:2.1, head:2.2")
    page.locator("#part").press("Enter")
    settled(page)
    maps = explorer.maps(LookAt(Reading(TEXT), [Change(["head:2.1", "head:2.2"])] * 2))
    assert largest("1.2") == before["1.2"] and largest("3.2") != before["3.2"]
    first, other = (layers[2][1] for layers in maps.of_models.values())
    place = first.argmax()
    wanted = [first.flat[place], other.flat[place], other.flat[place] - first.flat[place]]
    assert largest("3.2") == pytest.approx(wanted, abs=3e-3)


@pytest.mark.slow
def test_what_isnt_there_is_refused_with_the_servers_line(visit, checkpoints, labels):
    page = visit()
    read(page, TEXT)
    for typed, line in (("head:9.1", "layers 1 to 3"), ("haed:1.1", "haed:1.1")):
        page.locator("#part").fill(typed)
        page.locator("#part").press("Enter")
        page.locator(".switches .error", has_text=line).wait_for()
        settled(page)
        assert page.locator("[data-chip]").count() == 0
    agree(page, checkpoints, labels)
    page.get_by_label("Sentence", exact=True).fill(" ")
    page.locator(".reading .error:visible").wait_for()
    read(page, TEXT)
    assert not page.locator(".reading .error").is_visible()


@pytest.mark.slow
def test_a_part_is_taken_from_the_other(visit, explorer):
    from bertscope.live.messages import Change, LookAt, Reading

    page = visit()
    read(page, TEXT)
    page.locator("[data-sets=where][value='0']").check()
    page.locator("[data-head='2.2']").click()
    page.keyboard.press("g")
    settled(page)
    look = explorer.look(LookAt(Reading(TEXT), [Change(graft=["head:2.2"])]))
    for place, seen in enumerate(look.seen):
        assert shown(page, place) == pytest.approx({one.label: one.p for one in seen.after.shares}, abs=CLOSE)
    assert look.seen[0].after.p != pytest.approx(look.seen[0].before.p, abs=1e-4)
    assert page.locator("[data-chip]").inner_text().startswith("head 2.2 from B")


def turning(encoder, place: int) -> tuple[str, str]:
    """A word of its vocabulary in whose place another answer is given, and one in whose place none is."""
    words = [one for one in sorted(encoder.tokenizer.get_vocab()) if one.isalpha() and len(one) > 3]
    turned = {word: said(encoder, put(place, word)) != said(encoder, TEXT) for word in words[::40]}
    return next(one for one in turned if turned[one]), next(one for one in turned if not turned[one])


def said(encoder, text: str) -> int:
    first, second = given(encoder, text)
    return int(second > first)


def put(place: int, word: str) -> str:
    return " ".join([*TEXT.split()[:place], word, *TEXT.split()[place + 1 :]])


@pytest.mark.slow
def test_a_word_is_changed_and_what_carries_it_is_told(visit, explorer, checkpoints):
    from bertscope.live.messages import Patch, Reading

    word, idle = turning(checkpoints[0], 6)
    page = visit()
    read(page, TEXT)
    for one in (idle, word):
        page.locator("[data-model='0'] .word").nth(6).click()
        page.keyboard.type(one)
        page.keyboard.press("Enter")
        settled(page)
        assert page.locator(".shares").count() == (one == word)
        assert ("answered alike" in page.locator(".word-change").inner_text()) == (one == idle)
    assert page.locator(".texts").inner_text() == put(6, f"in {word}")
    for place, encoder in enumerate(checkpoints):
        moved = page.locator(".moved-answers p").nth(place).inner_text()
        for text, line in zip((TEXT, put(6, word)), moved.split("→"), strict=True):
            assert f"{max(given(encoder, text)):.3f}" in line
    found = explorer.patch(Patch(Reading(TEXT), Reading(put(6, word))))
    small = [one for one in found.parts if one.part.startswith(("head", "mlp"))]
    best = max(small, key=lambda one: abs(one.restored))
    line = page.locator(".carriers li").first.inner_text().replace("−", "-")
    assert f"{100 * best.restored:.0f}%" in line and best.part.split(":")[1] in line
    page.get_by_role("button", name="Read this text instead").click()
    settled(page)
    assert page.get_by_label("Sentence", exact=True).input_value() == put(6, word)
    assert not page.locator(".word-change").is_visible()


@pytest.mark.slow
def test_the_same_switches_on_several_texts(visit, explorer, checkpoints):
    from bertscope.live.messages import Change, Compare, Reading

    page = visit()
    texts = [TEXT, "no .", "it rained ."]
    page.locator("#several").fill("\n".join(texts))
    page.get_by_role("button", name="Add these").click()
    page.locator("[data-head='2.3']").click()
    page.keyboard.press("x")
    settled(page)
    compared = explorer.compare(Compare([Reading(text) for text in texts], [Change(["head:2.3"])] * 2))
    wanted = [one.distance for row in compared.moved for one in row]
    told = page.locator("[data-distance]").evaluate_all("(all) => all.map((one) => Number(one.dataset.distance))")
    assert told == pytest.approx(wanted, abs=CLOSE) and max(told) > 0.001


@pytest.mark.slow
def test_a_row_of_the_data_is_taken(visit, toy_task):
    page = visit()
    page.get_by_role("button", name="Take a row").click()
    page.locator("dialog .row").first.wait_for()
    assert "right answer" in page.locator("dialog .row").first.inner_text()
    page.get_by_label("Search the texts").fill(toy_task.test.text[3])
    page.locator("dialog .row", has_text=toy_task.test.text[3]).first.click()
    settled(page)
    assert page.get_by_label("Sentence", exact=True).input_value() == toy_task.test.text[3]


@pytest.mark.slow
def test_a_link_restores_the_view_and_back_goes_back(visit):
    page = visit()
    start = page.url
    read(page, TEXT)
    page.locator("[data-head='3.2']").click()
    page.keyboard.press("x")
    page.locator("#colour").select_option("change")
    page.locator("[data-sets=shown][value=difference]").check()
    page.locator("[data-sets=as][value=lines]").check()
    settled(page)
    page.get_by_role("button", name="Copy link").click()
    link, bars = page.evaluate("navigator.clipboard.readText()"), shown(page, 0)
    again = visit(url=link)
    assert shown(again, 0) == bars and again.get_by_label("Sentence", exact=True).input_value() == TEXT
    assert again.locator(".one h2").inner_text() == "Layer 3, head 2"
    assert again.locator("#colour").input_value() == "change"
    checked = again.locator(":checked[data-sets]").evaluate_all("(all) => all.map((one) => one.value)")
    assert {"difference", "lines"} <= set(checked)
    assert again.locator("[data-chip]").count() == 1
    while page.locator("[data-chip]").count():
        page.go_back()
        settled(page)
    assert page.get_by_label("Sentence", exact=True).input_value() == TEXT
    page.go_forward()
    settled(page)
    assert page.locator("[data-chip]").count() == 1 and page.url != start


def decoded(png: bytes) -> tuple[int, int, bytes]:
    """Width, height, and the filtered bytes of a PNG with eight bits a channel; each chunk's sum is right."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, head, body = 8, b"", b""
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, inside = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length : at + 12 + length]) == (zlib.crc32(kind + inside),)
        head, body = (inside if kind == b"IHDR" else head), body + (inside if kind == b"IDAT" else b"")
        at += 12 + length
    width, height, bits, colours = struct.unpack(">IIBB", head[:10])
    pixels = zlib.decompress(body)
    assert bits == 8 and len(pixels) == height * (1 + width * {2: 3, 6: 4}[colours])
    return width, height, pixels


def test_exports_are_files_that_others_read(visit, explorer):
    page = visit()
    read(page, TEXT)
    page.locator("[data-head='2.3']").click()
    page.keyboard.press("x")
    settled(page)

    def saved(which):
        page.get_by_text("Export", exact=True).click()
        with page.expect_download() as found:
            page.locator(f"[data-export={which}]").click()
        return found.value.path().read_bytes()

    root = ElementTree.fromstring(saved("svg"))
    texts = {one.text for one in root.iter(f"{SVG}text")}
    assert root.tag == f"{SVG}svg" and TEXT in texts and "Layer 2, head 3" in texts
    assert len(list(root.iter(f"{SVG}image"))) == 12 and any("head 2.3 off" in (one or "") for one in texts)
    width, height, pixels = decoded(saved("png"))
    assert (width, height) == tuple(2 * round(float(root.get(side))) for side in ("width", "height"))
    assert len({pixels[at : at + 3] for at in range(0, len(pixels), 997)}) > 100
    maps = json.loads(saved("json"))
    assert len(maps["models"]) == 2 and sum(maps["models"][0]["layers"][0][0][0]) == pytest.approx(1, abs=1e-4)
    page.get_by_text("Export", exact=True).click()
    page.locator("[data-export=python]").click()
    page.locator("#code[open]").wait_for()
    code = page.locator("#code textarea").input_value()
    assert "head:2.3" in code and page.evaluate("navigator.clipboard.readText()") == code
    compile(code, "copied", "exec")
