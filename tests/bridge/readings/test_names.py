"""Names of devices and quantities."""

import re
from typing import get_args

import pytest
from firmware_bridge.readings.names import is_name

from gateway.process.declarations.names import Name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", True),
        ("A1.b:c_d-e", True),
        ("0", True),
        ("x" * 64, True),
        ("x" * 65, False),
        ("", False),
        ("-a", False),
        ("a/b", False),
        ("a b", False),
        ("a\n", False),
        ("\u00e4", False),
    ],
)
def test_a_name_is_what_the_configuration_takes_for_one(text: str, expected: bool) -> None:
    assert is_name(text) is expected
    _, declared = get_args(Name)
    assert (re.fullmatch(declared.pattern, text) is not None) is expected
