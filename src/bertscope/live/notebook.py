"""`explore` in Python: the live page of a model, in a notebook or in a tab of the browser."""

from __future__ import annotations

import os
from html import escape
from typing import TYPE_CHECKING, Any, Self

from bertscope.live.installed import need_server

if TYPE_CHECKING:
    from bertscope.live.server import LiveServer

_ELSEWHERE = (
    "SSH_CONNECTION", "SSH_CLIENT", "JUPYTERHUB_SERVICE_PREFIX", "JUPYTERHUB_API_TOKEN", "COLAB_RELEASE_TAG",
    "COLAB_GPU", "KAGGLE_KERNEL_RUN_TYPE", "CODESPACES", "REMOTE_CONTAINERS", "VSCODE_IPC_HOOK_CLI",
    "VSCODE_AGENT_FOLDER", "GITPOD_WORKSPACE_ID", "BINDER_SERVICE_HOST", "DATABRICKS_RUNTIME_VERSION",
)  # fmt: skip
"""Variables that those set who run kernels on another machine than the browser's."""


class Exploration:
    """A live page that is being served. A notebook shows it; `url` opens it in a browser; `stop()` ends it, as does
    the end of a `with` block or of this process."""

    def __init__(self, server: LiveServer, height: int) -> None:
        self._server, self._height = server, height

    @property
    def url(self) -> str:
        """The link, with its token: who has it can ask the model, as long as it is served."""
        return self._server.url

    def stop(self) -> None:
        """End it: port and threads are let go of. What was stopped stays so."""
        self._server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<explore: {self.url}>" if self._server.runs else "<explore: stopped>"

    def _repr_html_(self) -> str:
        if not self._server.runs:
            return "<p>This page was stopped; run the cell again.</p>"
        link = f'<a href="{escape(self.url)}" target="_blank" rel="noopener">{escape(self.url.partition("#")[0])}</a>'
        if why := elsewhere():
            tunnel = f"ssh -N -L {self._server.port}:127.0.0.1:{self._server.port} THAT-MACHINE"
            return (
                f"<p>This kernel seems to run on another machine than your browser ({escape(why)} is set). Run "
                f"<code>{tunnel}</code> on yours, and open {link}</p>"
            )
        return (
            f'<iframe src="{escape(self.url)}" title="bertscope explore" width="100%" height="{self._height}" '
            f'style="border: 0" allow="clipboard-write"></iframe><p>In a tab of its own: {link}</p>'
        )


def elsewhere() -> str:
    """The variable that says that this process runs on another machine than the browser; empty where none does."""
    return next((name for name in _ELSEWHERE if os.environ.get(name)), "")


def explore(
    model: Any, base: Any = None, data: Any = None, *, store: Any = None, tokenizer: Any = None, height: int = 900,
    port: int = 0, **reading: Any,
) -> Exploration:  # fmt: skip
    """A sentence, two models, parts to switch off, live.

    Serves a page to this machine alone, from a thread of this process: type a text, see what the model says of it
    and where its heads look, switch parts off and see what changes. A notebook whose kernel is on your machine shows
    it in place; otherwise open `.url`. `.stop()` ends it. It needs `pip install 'bertscope[live]'`.

    model      `pocket`, a folder, a hub id, a transformers model, or an Encoder
    base       a second checkpoint beside it, such as what it was fine-tuned from
    data       rows to choose from, and what `mean` is taken over: a name, a path, or what you hold
    store      a store: what it knows of the heads colours them, and gives parts to switch off
    tokenizer  of a transformers model that doesn't say where its tokenizer is
    height     of the frame in a notebook, in pixels
    port       to listen on; 0 takes a free one
    reading    how data is read: `text`, `label`, `limit` ... as for `read_task`
    """
    need_server()
    from bertscope.live.explorer import Explorer
    from bertscope.live.guard import NOTEBOOKS
    from bertscope.live.server import LiveServer, bound

    where = bound(port=port)
    try:
        explorer = Explorer.open(model, base, data, store=store, tokenizer=tokenizer, **reading)
        return Exploration(LiveServer(explorer, where, frames=NOTEBOOKS).start(), height)
    except BaseException:
        where.close()
        raise
