"""The live page in Chromium, served as `bertscope explore` does: what its tests share."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from browsing import NEEDS_CHROMIUM, browser  # noqa: F401

TEXT = "the old man saw a dog in the garden"
QUIET_ERRORS = ("Failed to load resource",)
"""What Chromium itself says of an answer that isn't 200."""


@pytest.fixture(scope="module")
def checkpoints(_tiny) -> tuple[Any, Any]:
    """Two small classifiers of one shape, whose parts all matter; the second has other weights."""
    import torch

    from bertscope.models.encoder import Encoder

    torch.manual_seed(3)
    model = copy.deepcopy(_tiny.model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.15 * torch.randn_like(parameter))
    return _tiny, Encoder(model, _tiny.tokenizer, "the other", _tiny.family, _tiny.task_head)


@pytest.fixture(scope="module")
def explorer(checkpoints, toy_task):
    from bertscope.live.explorer import Explorer

    return Explorer.open(*checkpoints, toy_task)


@pytest.fixture(scope="module")
def server(explorer):
    from bertscope.live.server import LiveServer, bound

    with LiveServer(explorer, bound()) as running:
        yield running


@pytest.fixture
def visit(browser, server):  # noqa: F811
    """Open the page; at the end it must have asked nobody else for anything, and complained about nothing."""
    contexts, requests, complaints = [], [], []

    def open_page(at: str = "", width: int = 1280, theme: str = "light", ready: bool = True, url: str = "", **more):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce",
            permissions=["clipboard-read", "clipboard-write"], **more,
        )  # fmt: skip
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url or server.url + at)
        if ready:
            settled(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    own = f"http://127.0.0.1:{server.port}/"
    assert {one for one in requests if not one.startswith((own, "data:", f"blob:{own}"))} == set()
    assert [one for one in complaints if not one.startswith(QUIET_ERRORS)] == []


def settled(page) -> None:
    """The last question has its answer, and it is drawn."""
    page.locator("body[data-settled=true]").wait_for()


def shown(page, model: int) -> dict[str, float]:
    """The probabilities that the bars of a checkpoint stand for."""
    bars = page.locator(f"[data-model='{model}'] .bars li")
    return dict(bars.evaluate_all("(all) => all.map((one) => [one.dataset.label, Number(one.dataset.value)])"))


def given(encoder, text: str, off: tuple[str, ...] = (), **how: Any) -> list[float]:
    """What the library gives: the classifier itself, under the gates."""
    import torch

    inputs = encoder.tokenizer(text, return_tensors="pt")
    with torch.inference_mode(), encoder.gates(off, **how):
        return torch.softmax(encoder.model(**inputs).logits[0], -1).tolist()


def read(page, text: str) -> None:
    """Type a text, and wait for the answer."""
    field = page.get_by_label("Sentence", exact=True)
    field.fill(text)
    field.press("Enter")
    settled(page)
