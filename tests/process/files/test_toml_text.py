"""Tables written as TOML are read back as the same tables."""

import tomllib
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from gateway.process.files.toml_text import text_of

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
scalars = st.one_of(
    texts,
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
tables = st.dictionaries(texts, values, max_size=4)


@given(st.dictionaries(texts, tables | st.lists(tables, min_size=1, max_size=3), max_size=4))
@example({"wifi": {"ssid": "\N{SNOWMAN}\N{GRINNING FACE}"}})
@example({"wifi": {"ssid": "\x7f\x00\x1f\x85\u2028"}})
@example({"upload_environment": {"": '"', "ü": "\\"}})
def test_tables_of_any_names_and_values_are_read_as_they_were(written: dict[str, Any]) -> None:
    assert tomllib.loads(text_of(written)) == written


def test_plain_names_are_bare_and_lists_of_tables_in_double_brackets() -> None:
    assert text_of({"api": {"port": 80}, "serial": [{"name": "gps"}, {"name": "rain gauge"}]}) == (
        '[api]\nport = 80\n\n[[serial]]\nname = "gps"\n\n[[serial]]\nname = "rain gauge"\n\n'
    )
