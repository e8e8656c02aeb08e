"""Keys for a Dask cluster: whoever has the folder can give its workers code to run, nobody else."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from bertscope.core.errors import UserError
from bertscope.core.files import explained

if TYPE_CHECKING:
    from distributed import Security

CA, CERT, KEY = "ca.pem", "cert.pem", "key.pem"
_DAYS = 365
_PAGES = "--no-dashboard --dashboard-address 127.0.0.1:0"
"""Dask's own pages ask nobody for a key. The first flag leaves out most of them, the second shows the rest to this
machine alone."""


def make_keys(folder: Path) -> None:
    """A key and a certificate for all who take part, made for this folder: it is its own authority."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise UserError("keys are made by openssl, which isn't installed; install it, or bring keys of your own")
    if folder.exists() or folder.is_symlink():
        raise UserError(f"{folder} exists; name a folder that doesn't, or use the keys that are in it")
    with explained(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        half = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))  # which nobody else may enter
        try:
            (half / KEY).touch(mode=0o600)
            words = [
                openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-sha256",
                "-days", str(_DAYS), "-subj", "/CN=bertscope", "-keyout", KEY, "-out", CERT,
            ]  # fmt: skip
            made = subprocess.run(words, cwd=half, capture_output=True, text=True, check=False)
            if made.returncode:
                why = " ".join(made.stderr.split()[-40:])
                raise UserError(f"openssl made no keys ({why}); see what 'openssl req' needs here")
            shutil.copy(half / CERT, half / CA)
            half.rename(folder)
        finally:
            shutil.rmtree(half, ignore_errors=True)


def how_to_use(folder: Path) -> str:
    """The commands of a cluster with these keys."""
    files = {"--tls-ca-file": CA, "--tls-cert": CERT, "--tls-key": KEY}
    tls = " ".join([_PAGES, *(f"{flag} {quote(str(folder / name))}" for flag, name in files.items())])
    return (
        f"dask scheduler --protocol tls {tls}\n"
        f"dask worker tls://HOST:8786 --nthreads 1 --memory-limit 0 {tls}\n"
        f"bertscope study run FILE --cluster tls://HOST:8786 --cluster-keys {quote(str(folder))}"
    )


def security(address: str, keys: Path | None) -> Security | None:
    """How to prove who we are at this address; None: as Dask's own configuration says."""
    from distributed import Security

    if keys is None:
        configured = Security().get_tls_config_for_role("client")
        if address.startswith("tls://") and not (configured["ca_file"] and configured["cert"]):
            raise UserError(
                f"{address} asks for keys; give their folder with --cluster-keys, or configure Dask's TLS"
            )
        return None
    if not address.startswith("tls://"):
        raise UserError(f"keys are for a tls:// address, and {address} isn't one; start the scheduler with them")
    for name in (CA, CERT, KEY):
        if not (keys / name).is_file():
            raise UserError(f"{keys} has no {name}; 'bertscope study keys FOLDER' makes a folder of keys")
    if (keys / KEY).stat().st_mode & 0o077:
        raise UserError(f"{keys / KEY} may be read by others; chmod 600 it, or make new keys if they have read it")
    files = {"tls_ca_file": CA, "tls_client_cert": CERT, "tls_client_key": KEY}
    return Security(require_encryption=True, **{field: str(keys / name) for field, name in files.items()})
