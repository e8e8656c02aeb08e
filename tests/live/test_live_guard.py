"""Who is answered, and what no request can do: each of these fails without the line that holds it."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

pytest.importorskip("fastapi")  # an extra

from bertscope.live import app as app_module
from bertscope.live.bodies import DEPTH, depth
from bertscope.live.guard import NOTEBOOKS
from bertscope.live.rates import Rates
from fake_explorer import SECRET, FakeExplorer
from live_door import FILES, HEADERS, LOOK, TOKEN, door


@pytest.fixture(scope="module")
def _opened():
    fake = FakeExplorer()
    with door(fake) as one:
        yield one, fake


@pytest.fixture
def fake(_opened):
    _opened[1].calls.clear()
    return _opened[1]


@pytest.fixture
def opened(_opened, fake):
    one = _opened[0]
    one.bugs.clear()
    one.client.headers.update(HEADERS)
    return one


def test_the_page_needs_no_token_and_holds_none(opened):
    for path, file in FILES.items():
        found = opened.client.get(path, headers={"X-Bertscope-Token": ""})
        assert (found.status_code, found.content, found.headers["content-type"]) == (200, file.body, file.type)
        assert TOKEN not in found.text
        again = opened.client.get(path, headers={"If-None-Match": found.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", "\u00e4"])
def test_nothing_is_answered_without_the_token(opened, fake, token):
    sent = {"X-Bertscope-Token": token.encode("latin-1")}
    for answer in (
        opened.client.get("/api/about", headers=sent),
        opened.client.get("/api/openapi.json", headers=sent),
        opened.client.post("/api/look", json=LOOK, headers=sent),
        opened.client.post("/api/nowhere", json=LOOK, headers=sent),
    ):
        assert answer.status_code == 401 and "open the link" in answer.json()["error"]
    assert fake.calls == []
    assert opened.post("look").status_code == 200


def test_the_token_isnt_taken_from_the_address_or_a_cookie(opened):
    opened.client.headers.pop("X-Bertscope-Token")
    for found in (
        opened.client.get(f"/api/about?token={TOKEN}&X-Bertscope-Token={TOKEN}"),
        opened.client.get("/api/about", headers={"Cookie": f"token={TOKEN}; X-Bertscope-Token={TOKEN}"}),
        opened.client.get("/api/about", headers={"Authorization": f"Bearer {TOKEN}"}),
    ):
        assert found.status_code == 401


def test_the_token_is_compared_in_constant_time():
    """By `hmac.compare_digest`: `==` ends at the first letter that differs."""
    source = (Path(app_module.__file__).parent / "guard.py").read_text()
    compared = [ast.unparse(one) for one in ast.walk(ast.parse(source)) if isinstance(one, ast.Compare)]
    assert "hmac.compare_digest(" in source and not [one for one in compared if "token" in one.lower()]


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8000", "127.0.0.1.evil.example:8000", "localhost.evil.example", "", "[::2]"],
)
def test_another_name_isnt_served_for_it_could_lead_here_by_rebinding(opened, fake, host):
    for answer in (
        opened.client.get("/", headers={"Host": host}), opened.client.get("/static/main.js", headers={"Host": host}),
        opened.post("look", Host=host),
    ):  # fmt: skip
        assert answer.status_code == 403
    assert fake.calls == []


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "LOCALHOST:9999", "[::1]:8000", "127.0.0.1"])
def test_this_machines_own_names_are_served_whatever_port_a_tunnel_has(opened, host):
    assert opened.post("look", Host=host, Origin=f"http://{host}").status_code == 200


def test_where_it_listens_for_others_its_own_address_will_do(fake):
    """A name can be made to lead here, an address can't."""
    with door(fake, names=frozenset({"box.lan"})) as closed:
        assert closed.post("look", Host="127.0.0.1:8000").status_code == 403
    with door(fake, own_address=True, names=frozenset({"box.lan"})) as wide:
        asked = {name: wide.post("look", Host=name).status_code for name in ("127.0.0.1:8000", "box.lan", "evil.lan")}
    assert asked == {"127.0.0.1:8000": 200, "box.lan": 200, "evil.lan": 403}  # the client's address is 127.0.0.1


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:9000"},
     {"Origin": "http://localhost:8000"}, {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"},
     {"Origin": "http://127.0.0.1:8000", "Sec_Fetch_Site": "cross-site"}],
)  # fmt: skip
def test_other_pages_arent_answered_even_with_the_token(opened, fake, headers):
    assert opened.post("look", **headers).status_code == 403
    assert fake.calls == []


def test_the_page_itself_is_answered(opened):
    own = {"Origin": "http://127.0.0.1:8000", "Sec_Fetch_Site": "same-origin"}
    assert opened.post("look", **own).status_code == 200


def test_no_answer_may_be_read_by_other_pages(opened):
    asked = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST",
             "Access-Control-Request-Headers": "x-bertscope-token"}  # fmt: skip
    for answer in (
        opened.client.options("/api/look", headers=asked), opened.client.get("/"), opened.post("look"),
        opened.client.get("/api/about"), opened.post("look", Origin="http://evil.example"),
    ):  # fmt: skip
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_every_answer_has_the_policy_without_inline_script(opened):
    for answer in (
        opened.client.get("/"), opened.client.get("/nowhere"), opened.client.get("/api/about"),
        opened.post("look", {"reading": {"text": "bug"}}), opened.post("look", Host="evil.example"),
    ):  # fmt: skip
        policy = dict(one.split(" ", 1) for one in answer.headers["content-security-policy"].split("; "))
        assert policy == {
            "default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self' data: blob:",
            "connect-src": "'self'", "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'",
        }  # fmt: skip
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == (
            "no-cache" if answer.url.path == "/" and answer.is_success else "no-store"
        )


def test_only_a_notebooks_page_may_be_framed(fake):
    with door(fake, frames=NOTEBOOKS) as one:
        policy = one.client.get("/").headers["content-security-policy"]
    assert policy.endswith("; frame-ancestors 'self' http://localhost:* http://127.0.0.1:*")


def test_bodies_are_json_by_their_type(opened, fake):
    """A form of another page may send text/plain without asking first."""
    body = json.dumps(LOOK)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        assert opened.client.post("/api/look", content=body, headers={"Content-Type": kind}).status_code == 415
    assert fake.calls == []
    utf8 = {"Content-Type": "application/json; charset=utf-8"}
    assert opened.client.post("/api/look", content=body, headers=utf8).status_code == 200


def test_a_long_body_is_refused_by_its_length_and_by_what_comes(opened, fake):
    typed = {"Content-Type": "application/json"}
    sent = 0

    def pieces():
        nonlocal sent
        for _ in range(1000):
            sent += 1000
            yield b" " * 1000

    declared = opened.client.post("/api/look", content=b"{}", headers=typed | {"Content-Length": "99999999"})
    streamed = opened.client.post("/api/look", content=pieces(), headers=typed)
    assert (declared.status_code, streamed.status_code) == (413, 413)
    assert "20,000 bytes" in streamed.json()["error"] and fake.calls == []


def test_deep_json_is_refused_before_it_is_parsed(opened, fake):
    for deep in (b"[" * 9000, b'{"reading":' * 1500 + b"1", b"[" * (DEPTH + 1) + b"]" * (DEPTH + 1)):
        answer = opened.client.post("/api/look", content=deep, headers={"Content-Type": "application/json"})
        assert (answer.status_code, fake.calls) == (422, []) and "brackets" in answer.json()["error"]
    assert opened.post("look", {"reading": {"text": "[" * 500}}).status_code == 200
    assert (depth(b'["\\"]]", [1]]'), depth(b'"' + b'\\"' * 200_000), depth(b"[" * 200_000)) == (2, 0, 200_000)


def test_another_encoding_is_refused_before_it_is_parsed(opened, fake):
    """Its letters would hide brackets: the two bytes of \u2200 have a quotation mark's among them."""
    hidden = '["\u2200", ' + "[" * 2000
    for body in (hidden, json.dumps({"reading": {"text": "a"}})):
        for encoding in ("utf-16", "utf-16-le", "utf-32"):
            typed = {"Content-Type": "application/json"}
            answer = opened.client.post("/api/look", content=body.encode(encoding), headers=typed)
            assert (answer.status_code, fake.calls) == (400, []) and "UTF-8" in answer.json()["error"]


def test_long_texts_are_refused_before_they_wait(opened, fake):
    answers = [
        opened.post("look", {"reading": {"text": "x" * 1000, "pair": "y" * 1000, "choices": ["z"]}}),
        opened.post("compare", {"readings": [{"text": "x" * 201}] * 10}),
    ]
    for answer in answers:
        assert answer.status_code == 422 and "2,000 that are read at once" in answer.json()["error"]
    assert fake.calls == []
    assert opened.post("look", {"reading": {"text": "x" * 1000, "pair": "y" * 1000}}).status_code == 200


def test_each_client_has_a_rate_and_all_of_an_address_too(fake):
    now = 0.0
    with door(fake, rates=Rates(per_client=2, per_address=4, seconds=1, clock=lambda: now)) as one:
        asked = [one.post("look", X_Bertscope_Client="a") for _ in range(3)]
        assert [answer.status_code for answer in asked] == [200, 200, 429]
        assert asked[2].headers["retry-after"] == "1" and "error" in asked[2].json()
        other = [one.post("look", X_Bertscope_Client=f"b{place}").status_code for place in range(3)]
        assert other == [200, 200, 429]  # of the address: who makes up names gains nothing
        now = 0.5
        assert one.post("look", X_Bertscope_Client="a").status_code == 200
        assert one.client.get("/").status_code == 200  # the page itself costs nothing


def test_buckets_are_forgotten_before_they_fill_the_memory():
    rates = Rates(per_client=1, per_address=1e9, seconds=1)
    for place in range(5000):
        assert rates.take("127.0.0.1", f"client {place}") == 0
    assert len(rates._buckets) <= 1024


@pytest.mark.parametrize(
    "path",
    ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd", "/etc/passwd",
     "/static/main.js/", "/static/main.js%00", "/static/C:\\x", "/static/", "//etc/passwd", "/static/\u00e4"],
)  # fmt: skip
def test_no_path_of_a_client_opens_a_file(opened, path, monkeypatch):
    def never(*_, **__):
        raise AssertionError("a file was opened")

    for place in ("pathlib.Path.open", "pathlib.Path.read_bytes", "builtins.open", "os.open"):
        monkeypatch.setattr(place, never)
    assert opened.client.get(path).json() == {"error": "there is nothing at this address"}
    assert opened.client.get("/static/main.js", params={"name": path}).content == FILES["/static/main.js"].body


@pytest.mark.parametrize("text", ["bug", "end"])
def test_a_bug_is_one_line_for_the_client_and_a_traceback_for_the_log(opened, text):
    answer = opened.post("look", {"reading": {"text": text}})
    assert answer.status_code == 500
    assert "Traceback" not in answer.text and SECRET not in answer.text and ".py" not in answer.text
    assert list(answer.json()) == ["error"] and "\n" not in answer.json()["error"]
    assert SECRET in str(opened.bugs[0])
    assert opened.post("look").status_code == 200, "the model's thread lives on"


def test_a_users_mistake_is_one_line(opened):
    answer = opened.post("look", {"reading": {"text": "mistake"}})
    assert (answer.status_code, answer.json()) == (422, {"error": "this text is a mistake; give another"})
    assert opened.bugs == []


def test_who_says_a_header_twice_may_mean_either(opened):
    twice = [(b"x-bertscope-token", TOKEN.encode()), (b"x-bertscope-token", b"other")]
    opened.client.headers.pop("X-Bertscope-Token")
    assert opened.client.get("/api/about", headers=twice).status_code == 400
