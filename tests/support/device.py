"""Where the tests' models live."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

DEVICE = os.environ.get("BERTSCOPE_TEST_DEVICE", "cpu")
"""`cuda` on a GPU machine. Tolerances are the same; only bit-equality isn't asked."""
if DEVICE == "cpu":
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # a model that is opened where it is best opened is on the CPU, too
draws_pages = pytest.mark.skipif(find_spec("vl_convert") is None, reason="vl_convert, which draws, isn't here")
"""It isn't on the bare GPU machine."""
on_cpu = pytest.mark.skipif(DEVICE != "cpu", reason="bit-equality is promised on CPU at a fixed thread count")
one_by_one = pytest.mark.skipif(DEVICE != "cpu", reason="on a GPU steps are recorded, and their Python runs once")
