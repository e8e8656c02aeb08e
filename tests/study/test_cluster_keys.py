"""A Dask cluster with TLS: who has the keys can use it, nobody else; and what is said where something is amiss."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bertscope.core.errors import UserError
from bertscope.core.progress import telling
from bertscope.core.store import Store
from bertscope.study import cluster
from bertscope.study.cluster_keys import CA, CERT, KEY, how_to_use, make_keys, security
from bertscope.study.runner import run_steps
from sums import register, step
from watched_processes import doors

pytest.importorskip("distributed")
dask_config = pytest.importorskip("dask.config")
pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not shutil.which("openssl"), reason="keys are made by openssl"),
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="processes are watched as Linux shows them"),
]
SUPPORT = Path(__file__).parents[1] / "support"


@pytest.fixture(autouse=True)
def sums(monkeypatch):
    register(monkeypatch)


@pytest.fixture
def keys(tmp_path) -> Path:
    make_keys(tmp_path / "my keys")
    return tmp_path / "my keys"


def modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())}


def test_keys_are_for_their_maker_alone_and_never_written_over(keys):
    assert (
        set(modes(keys)) == {"my keys", CA, CERT, KEY}
        and modes(keys)["my keys"] == 0o700
        and modes(keys)[KEY] == 0o600
    )
    assert {path.name for path in keys.parent.iterdir()} == {"my keys"}
    before = (keys / KEY).read_bytes()
    with pytest.raises(UserError, match="keys exists; name a folder that doesn't"):
        make_keys(keys)
    assert (keys / KEY).read_bytes() == before
    make_keys(keys.parent / "deeper" / "others")
    assert (keys.parent / "deeper" / "others" / KEY).read_bytes() != before


def test_without_openssl_it_is_said_and_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UserError, match="openssl, which isn't installed"):
        make_keys(tmp_path / "keys")
    monkeypatch.setattr(shutil, "which", lambda name: "/bin/false")
    with pytest.raises(UserError, match="openssl made no keys"):
        make_keys(tmp_path / "keys")
    assert not list(tmp_path.iterdir())


def test_keys_that_cannot_be_used_are_one_line(keys):
    with pytest.raises(UserError, match="keys are for a tls:// address"):
        security("tcp://127.0.0.1:1", keys)
    with pytest.raises(UserError, match="asks for keys; give their folder with --cluster-keys"):
        security("tls://127.0.0.1:1", None)
    with pytest.raises(UserError, match="keys are for a cluster"):
        run_steps([step()], Store(keys.parent), cluster_keys=keys)
    (keys / KEY).chmod(0o640)
    with pytest.raises(UserError, match="may be read by others; chmod 600 it"):
        security("tls://127.0.0.1:1", keys)
    (keys / KEY).unlink()
    with pytest.raises(UserError, match=r"has no key\.pem"):
        security("tls://127.0.0.1:1", keys)


def test_the_command_says_how_keys_are_used(command, tmp_path):
    code, said, _ = command("study", "keys", "mine")
    assert code == 0 and said == how_to_use(tmp_path / "mine") + "\n" and (tmp_path / "mine" / KEY).exists()
    assert command("study", "keys", "mine")[0] == 2


def test_an_open_address_gets_a_line_of_warning(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cluster, "_CONNECT", 0.2)
    for address, quiet in (("tcp://127.0.0.1:9", False), ("127.0.0.1:9", False), ("tcp://127.0.0.1:9", True)):
        with pytest.raises(UserError, match="no Dask scheduler"), telling("quiet" if quiet else "normal"):
            run_steps([step()], Store(tmp_path), cluster=address)
        told = [line for line in capsys.readouterr().err.splitlines() if "can run code as you" in line]
        assert len(told) == (not quiet)


@pytest.fixture
def address(keys, tmp_path):
    """A scheduler and a worker, started by the lines that `bertscope study keys` prints."""
    known = tmp_path / "known.py"
    known.write_text(
        f"import sys\nsys.path.insert(0, {str(SUPPORT)!r})\n"
        "import pytest\nfrom sums import register\n"
        "def dask_setup(worker):\n    register(pytest.MonkeyPatch())\n"
    )
    scheduler, worker, _ = (shlex.split(line) for line in how_to_use(keys).splitlines())
    started = []

    def start(words: list[str], *more: str) -> None:
        assert words[0] == "dask"
        words = [sys.executable, "-m", *words, *more]
        started.append(subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))

    try:
        start(scheduler, "--host", "127.0.0.1", "--port", "0")
        found = next(line for line in started[0].stderr if "Scheduler at:" in line).split()[-1]
        worker[worker.index("tls://HOST:8786")] = found
        start(worker, "--preload", str(known), "--no-nanny", "--local-directory", str(tmp_path / "dask"))
        told = {}
        for line in started[1].stderr:
            name, _, value = line.rpartition(" - ")[2].partition(":")
            told[name.strip()] = value.strip()
            if name.strip() == "Registered to":
                break
        assert told["Registered to"] == found
        pages = f" 0100007F:{int(told['dashboard at'].rpartition(':')[2]):04X} "  # as Linux writes 127.0.0.1:PORT
        assert any(pages in door for door in doors(started[1].pid)), "Dask's pages are for this machine alone"
        yield found
    finally:
        for process in started:
            process.kill()
            process.communicate()


def test_a_cluster_with_keys_works_for_who_has_them(keys, address, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cluster, "_CONNECT", 2)
    store = Store(tmp_path / "store")
    assert address.startswith("tls://127.0.0.1:")
    assert set(run_steps([step(add=1)], store, cluster=address, cluster_keys=keys).done) == {step(add=1).id}
    assert store.result(step(add=1))["total"].value == 6 and "can run code" not in capsys.readouterr().err
    make_keys(tmp_path / "others")
    for stranger, more in ((address, {"cluster_keys": tmp_path / "others"}), (address.replace("tls", "tcp"), {})):
        with pytest.raises(UserError, match=r"no Dask scheduler answers at t(ls|cp)://127"):
            run_steps([step(add=2)], store, cluster=stranger, **more)
    files = {"ca-file": CA, "client.cert": CERT, "client.key": KEY}
    configured = {f"distributed.comm.tls.{name}": str(keys / file) for name, file in files.items()}
    with dask_config.set(configured):
        assert set(run_steps([step(add=2)], store, cluster=address).done) == {step(add=2).id}
