"""Scripts of pages: small modules, joined into one script that may run by its hash."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable

from bertscope.report.templates import HERE

_IMPORT = re.compile(r"^import [^;]*;\n", re.M)
_EXPORT = re.compile(r"^export (?P<rest>(?:async )?(?:const|function|class) (?P<name>\w+))", re.M)


def joined(names: Iterable[str], before: str = "") -> str:
    """Modules of `scripts`, each after those that it imports, as one script. What a module doesn't export stays its
    own; a script without exports shares all of its names with those after it."""
    whole = "\n".join(_module((HERE / f"scripts/{name}.js").read_text(encoding="utf-8")) for name in names)
    return f'(() => {{\n"use strict";\n{before}\n{whole}\n}})();'


def _module(text: str) -> str:
    exported = ", ".join(found["name"] for found in _EXPORT.finditer(text))
    body = _EXPORT.sub(r"\g<rest>", _IMPORT.sub("", text))
    return f"const {{ {exported} }} = (() => {{\n{body}return {{ {exported} }};\n}})();" if exported else body


def allowed(*scripts: str) -> str:
    """What a content security policy says of these scripts, and so of no others: a text that slipped through escaping
    still couldn't run."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts)
    return " ".join(f"'sha256-{digest}'" for digest in digests)
