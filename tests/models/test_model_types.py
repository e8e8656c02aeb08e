"""Every text encoder that transformers has is a family, or is refused with its reason."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import transformers
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

import family_tables
from bertscope.core.errors import UserError
from bertscope.models.families import FAMILIES, family_of
from bertscope.models.load import load
from bertscope.models.unsupported import UNSUPPORTED

HEADS = ("MASKED_LM", "SEQUENCE_CLASSIFICATION", "TOKEN_CLASSIFICATION", "QUESTION_ANSWERING", "TEXT_ENCODING")
PINNED = re.findall(r"^transformers==(.+)$", (Path(__file__).parents[2] / "constraints.txt").read_text(), re.M)[0]


def test_every_type_with_a_head_for_text_is_known_or_has_a_reason():
    found = {name for head in HEADS for name in getattr(modeling_auto, f"MODEL_FOR_{head}_MAPPING_NAMES")}
    assert len(found) > 100, "transformers calls its tables something else now"
    unknown = sorted(found - set(FAMILIES) - set(UNSUPPORTED))
    assert not unknown, f"new in transformers: {unknown}; add a row to families.py, or a reason to unsupported.py"


def test_nothing_is_in_both_tables_or_of_no_release():
    assert not set(FAMILIES) & set(UNSUPPORTED)
    unknown = (set(FAMILIES) | set(UNSUPPORTED)) - set(CONFIG_MAPPING_NAMES)
    if unknown and release(transformers.__version__) < release(PINNED):
        pytest.skip(f"transformers {transformers.__version__} hasn't {', '.join(sorted(unknown))} yet")
    assert not unknown


def release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


@pytest.mark.parametrize(
    ("model_type", "reason"),
    [
        ("longformer", "its tokens see only some of the others"),
        ("big_bird", "its tokens see only some of the others"),
        ("led", "its tokens see only some of the others"),
        ("funnel", "its layers get shorter"),
        ("nystromformer", "its attention is approximated"),
        ("fnet", "it has no attention"),
        ("t5", "it is an encoder with a decoder"),
    ],
)
def test_load_says_no_in_a_line(tmp_path, model_type, reason):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(UserError, match=f"models of type '{model_type}' are not supported: {reason}") as error:
        load(tmp_path)
    assert "\n" not in str(error.value) and "known: albert, bert" in str(error.value)


def test_a_slip_of_the_pen_is_told_from_another_type():
    with pytest.raises(UserError, match="'modernbret' are not supported; did you mean 'modernbert'"):
        family_of("modernbret")


def test_the_page_has_the_tables():
    page = family_tables.documented()
    assert page == family_tables.filled(page), "run tests/support/family_tables.py"
    named = set(re.findall(r"`([^`]+)`", page))
    assert set(FAMILIES) <= named and set(UNSUPPORTED) <= named
