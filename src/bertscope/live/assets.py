"""The files of the page: a table that is made once. What a browser asks for is looked up in it, never opened."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bertscope.core.errors import UserError

PAGE = Path(__file__).parent / "page"
REPORT = Path(__file__).parents[1] / "report"
STATIC = "/static/"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}


@dataclass(frozen=True)
class Asset:
    body: bytes
    type: str
    etag: str

    @classmethod
    def read(cls, path: Path) -> Asset:
        body = path.read_bytes()
        return cls(body, _TYPES[path.suffix], f'"{hashlib.sha256(body).hexdigest()[:16]}"')

    def headers(self) -> dict[str, str]:
        """A browser keeps it and asks each time whether it is still the same: another version may serve this port
        tomorrow."""
        return {"cache-control": "no-cache", "etag": self.etag}


def assets(page: Path = PAGE, report: Path = REPORT) -> Mapping[str, Asset]:
    """What is served, by address: the page itself, what it loads, and the report's drawing code, which it shares."""
    if not (page / "index.html").is_file():
        raise UserError(f"the live page's files are missing ({page}); install bertscope anew")
    found = {"/": Asset.read(page / "index.html")}
    for folder, under in ((page, ""), (report / "scripts" / "attention", "report/scripts/attention/")):
        for path in sorted(folder.rglob("*")):
            if path.suffix in _TYPES and path.name != "index.html":
                found[f"{STATIC}{under}{path.relative_to(folder).as_posix()}"] = Asset.read(path)
    for name in ("attention.css", "scripts/base.js"):
        found[f"{STATIC}report/{name}"] = Asset.read(report / name)
    return found
