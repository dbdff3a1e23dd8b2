"""Names of devices and quantities: one topic level, and one part of a SenML name."""

import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from gateway.process.declarations.names import NAME_PATTERN, Name
from gateway.process.declarations.quantities import Text

_, NAME = get_args(Name)
assert isinstance(NAME, Text)


@pytest.mark.parametrize("name", ["a", "7", "temperature", "a.b:c_d-e", "A" * 64])
def test_a_name_is_taken(name: str) -> None:
    assert NAME.value_of(name) == name


@pytest.mark.parametrize(
    "name", ["", "-a", "_a", "a/b", "a b", "a+", "#", "\u00e4", "a\n", "A" * 65, 7, None]
)
def test_any_other_is_refused_with_what_is_allowed(name: object) -> None:
    with pytest.raises(PydanticCustomError, match="1 to 64 letters, digits"):
        NAME.value_of(name)


@given(st.from_regex(NAME_PATTERN, fullmatch=True))
def test_every_name_is_a_topic_level_and_a_name_of_rfc_8428(name: str) -> None:
    assert not set("/+#\0") & set(name)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9:._/-]*", name)
