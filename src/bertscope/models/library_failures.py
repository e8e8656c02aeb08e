"""Where the library reads somebody's files, whatever it raises is about these files, and becomes one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from huggingface_hub.errors import StrictDataclassError

from bertscope.core.errors import UserError, in_a_line


@contextmanager
def library_failures(what: str, remedy: str) -> Iterator[None]:
    """Turn any error of the block into `{what} ({why}); {remedy}`. Only calls of the library belong in it: an error
    of ours has to stay one."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # the library raises whatever its file readers happen to raise
        raise UserError(f"{what} ({reason(error)}); {remedy}") from error
    except BaseException as error:
        if type(error).__module__ != "pyo3_runtime":  # a panic in Rust, which is no Exception
            raise
        raise UserError(f"{what} ({reason(error)}); {remedy}") from error


def reason(error: BaseException) -> str:
    """What an error says, in one line. A check of the library's configs says in its cause what is wrong."""
    if isinstance(error, StrictDataclassError) and error.__cause__ is not None:
        error = error.__cause__
    return in_a_line(error)
