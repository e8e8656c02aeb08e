"""Whether what the live page is served with is installed: it is an extra."""

from __future__ import annotations

from importlib.util import find_spec

from bertscope.core.errors import UserError


def need_server() -> None:
    """Say what to install, before anything is loaded."""
    if missing := [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]:
        raise UserError(f"{' and '.join(missing)} must be installed for explore: pip install 'bertscope[live]'")
