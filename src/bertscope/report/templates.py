"""The templates of page, ledger and export, filled in: whatever comes from a result is escaped."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markupsafe import Markup

HERE = Path(__file__).parent


def rendered(template: str, **values: Any) -> Markup:
    """A template with these values."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    templates = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined,
                            trim_blocks=True, lstrip_blocks=True)  # fmt: skip
    templates.filters["capitalize_first"] = lambda text: text[:1].upper() + text[1:]
    templates.filters["json"] = json.dumps
    templates.filters["code"] = _code
    return Markup(templates.get_template(template).render(**values, raw=Markup))


def _code(text: str) -> Markup:
    """What stands between backticks as code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))
