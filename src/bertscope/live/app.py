"""What the page asks of the server: a FastAPI application, whose OpenAPI document describes all of it."""

# No `annotations` from `__future__`: FastAPI reads those of functions that are made here.
import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Depends, FastAPI, Header, Request, Response
from fastapi.exceptions import HTTPException, RequestValidationError
from fastapi.security import APIKeyHeader

from bertscope import __version__
from bertscope.core.attention_maps import AttentionMaps
from bertscope.core.errors import UserError
from bertscope.core.harmless import is_utf8, one_line
from bertscope.live import messages
from bertscope.live.assets import STATIC, Asset
from bertscope.live.bodies import UNREADABLE, Refusal
from bertscope.live.desk import Asker, Busy, Closing, Desk, Superseded
from bertscope.live.guard import BUG, CLIENT, STOPPED, TOKEN
from bertscope.live.messages import (
    About,
    AskHead,
    AskRows,
    Card,
    Compare,
    Compared,
    Explain,
    Explained,
    Look,
    LookAt,
    Patch,
    Patched,
    Reading,
    Refused,
    Rows,
)  # fmt: skip
from bertscope.live.saved_maps import MapsOf, SavedMaps, saved

SEQUENCE = "x-bertscope-sequence"
_LARGEST = 2**31
"""No count that may be asked for is larger; what is would overflow somewhere."""
_GONE = 499
"""What nobody reads: the client left."""


class Explores(Protocol):
    """What answers: `Explorer`."""

    def about(self) -> About: ...
    def rows(self, ask: AskRows, /) -> Rows: ...
    def look(self, ask: LookAt, /) -> Look: ...
    def explain(self, ask: Explain, /) -> Explained: ...
    def compare(self, ask: Compare, /) -> Compared: ...
    def patch(self, ask: Patch, /) -> Patched: ...
    def head(self, ask: AskHead, /) -> Card: ...
    def python(self, ask: LookAt, /) -> str: ...
    def maps(self, ask: LookAt, /) -> AttentionMaps: ...


@dataclass(frozen=True)
class _Operation:
    """What may be posted to /api/`name`."""

    name: str
    asked: type
    answer: Any
    summary: str


_OPERATIONS = (
    _Operation("rows", AskRows, Rows, "Rows of the data: searched, the wrong ones first"),
    _Operation(
        "look", LookAt, Look, "What each checkpoint says of a text, before and after the changes, and its maps"
    ),
    _Operation("explain", Explain, Explained, "How much each word did for what is said"),
    _Operation("compare", Compare, Compared, "What the changes do to several texts"),
    _Operation("patch", Patch, Patched, "Which part carries the difference between two texts"),
    _Operation("head", AskHead, Card, "What is known of a head"),
    _Operation("python", LookAt, str, "The lines of Python that give the same"),
    _Operation("maps", LookAt, SavedMaps, "The maps as numbers, to be saved"),
)
_REFUSED: dict[int | str, dict[str, Any]] = {
    status: {"model": Refused, "description": why}
    for status, why in {
        400: "The body or a header can't be read.",
        401: "The token is missing or wrong.",
        403: "The name isn't one that is served, or another page asks.",
        429: "Too many requests; `Retry-After` says how long to wait.",
        500: "A bug: the log, where it runs, has the details.",
    }.items()
}
_POSTED: dict[int | str, dict[str, Any]] = {
    status: {"model": Refused, "description": why}
    for status, why in {
        408: "The body came too slowly.",
        409: "The same client has asked something newer of the same kind meanwhile.",
        413: "The body is too long.",
        415: "The body isn't sent as application/json.",
        422: "What is asked for isn't there, or can't be had; `error` says why.",
        503: "Busy: the queue before the model is full; `Retry-After` says when to ask again.",
    }.items()
}


def application(explorer: Explores, desk: Desk, files: Mapping[str, Asset]) -> FastAPI:
    """The application. The explorer is asked in the desk's thread alone, but for what never changes."""
    for one in (*vars(messages).values(), MapsOf, SavedMaps):
        # Fields with their docstrings; a misspelt one is refused. `Refused` is in every answer, and has none to read.
        if is_dataclass(one) and one is not Refused:
            one.__pydantic_config__ = {"use_attribute_docstrings": True, "extra": "forbid"}  # type: ignore[union-attr]
    app = FastAPI(
        title="bertscope explore", version=__version__, openapi_url="/api/openapi.json", docs_url=None,
        redoc_url=None, redirect_slashes=False,
        description="A sentence, two models, parts to switch off. Every call carries the token of the link.",
    )  # fmt: skip
    about = explorer.about()
    router = APIRouter(prefix="/api", dependencies=[Depends(APIKeyHeader(name=TOKEN, auto_error=False))])

    async def told() -> About:
        return about

    router.add_api_route(
        "/about", told, methods=["GET"], summary="What is explored", operation_id="about", responses=_REFUSED
    )
    for operation in _OPERATIONS:
        router.add_api_route(
            f"/{operation.name}", _endpoint(operation, explorer, desk, about.limits.letters), methods=["POST"],
            summary=operation.summary, operation_id=operation.name,
            response_model=None if operation.answer is SavedMaps else operation.answer,
            responses=_REFUSED | _POSTED | ({200: {"model": SavedMaps}} if operation.answer is SavedMaps else {}),
        )  # fmt: skip
    app.include_router(router)
    _serve_files(app, files)
    _answer_mistakes(app)
    return app


def _endpoint(operation: _Operation, explorer: Explores, desk: Desk, letters: int) -> Callable[..., Any]:
    call = getattr(explorer, operation.name)

    async def asked(
        request: Request,
        ask: operation.asked,  # type: ignore[name-defined]
        client: Annotated[str, Header(alias=CLIENT, max_length=64, pattern="^[A-Za-z0-9_-]*$")] = "",
        sequence: Annotated[int, Header(alias=SEQUENCE, ge=0, lt=_LARGEST)] = 0,
    ) -> Any:
        _check(ask, letters)
        answering = asyncio.ensure_future(desk.ask(operation.name, lambda: call(ask), Asker(client, sequence)))
        leaving = asyncio.ensure_future(_left(request))
        try:
            await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                return Response(status_code=_GONE)
            answer = answering.result()
        finally:
            answering.cancel()
            leaving.cancel()
        if isinstance(answer, AttentionMaps):
            return Response(await asyncio.to_thread(saved, answer), media_type="application/json")
        return answer

    return asked


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _check(ask: Any, letters: int) -> None:
    """What no reader downstream should have to think of."""
    read = 0
    for one in _parts(ask):
        if isinstance(one, Reading):
            read += sum(map(len, (one.text, one.pair or "", *one.choices)))
        elif isinstance(one, str) and not is_utf8(one):
            raise UserError("a text has half of a letter in it (a lone surrogate); type it anew")
        elif isinstance(one, int) and abs(one) > _LARGEST:
            raise UserError("a number is larger than anything here")
    if read > letters:
        raise UserError(f"{read:,} letters are more than the {letters:,} that are read at once; give a shorter text")


def _parts(value: Any) -> Iterator[Any]:
    yield value
    inside = (getattr(value, one.name) for one in fields(value)) if is_dataclass(value) else ()
    for one in value if isinstance(value, list) else inside:
        yield from _parts(one)


def _serve_files(app: FastAPI, files: Mapping[str, Asset]) -> None:
    async def file(request: Request) -> Response:
        if (found := files.get(request.url.path)) is None:
            raise HTTPException(404)
        if request.headers.get("if-none-match") == found.etag:
            return Response(status_code=304, headers=found.headers())
        return Response(found.body, media_type=found.type, headers=found.headers())

    for path in ("/", f"{STATIC}{{name:path}}"):
        app.add_api_route(path, file, methods=["GET", "HEAD"], include_in_schema=False)


def _answer_mistakes(app: FastAPI) -> None:
    """Every refusal is one line in `Refused`; that of a bug says nothing of it."""
    refusals: dict[Any, Callable[[Any], Refusal]] = {
        UserError: lambda error: Refusal(422, one_line(str(error))),
        RequestValidationError: lambda error: Refusal(422, _first_mistake(error)),
        Busy: lambda _: Refusal(503, "busy: others are being answered; ask again in a moment", retry=1),
        Closing: lambda _: STOPPED,
        Superseded: lambda _: Refusal(409, "superseded: the same page has asked something newer"),
        400: lambda _: UNREADABLE,
        404: lambda _: Refusal(404, "there is nothing at this address"),
        405: lambda _: Refusal(405, "this address isn't asked in this way"),
        Exception: lambda _: BUG,
    }

    def answers(why: Callable[[Any], Refusal]) -> Callable[..., Any]:
        async def answer(request: Request, error: Exception) -> Response:
            refusal = why(error)
            headers = refusal.headers() | dict(getattr(error, "headers", None) or {})  # 405 says what is allowed
            return Response(json.dumps({"error": refusal.error}), refusal.status, headers, "application/json")

        return answer

    for which, why in refusals.items():
        app.add_exception_handler(which, answers(why))


def _first_mistake(error: RequestValidationError) -> str:
    """`changes.0.mode: Input should be 'zero', 'uniform' or 'mean'`, without what was given."""
    first = error.errors()[0]
    where = ".".join(str(one) for one in first["loc"][1:])
    return one_line(f"{where}: {first['msg']}" if where else str(first["msg"]))
