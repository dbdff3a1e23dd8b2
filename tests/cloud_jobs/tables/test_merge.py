"""Strings are quoted in SQL so that their value does not change."""

from __future__ import annotations

import pytest

from cloud_jobs.tables.merge import literal, quoted


@pytest.mark.parametrize(
    ("text", "written"),
    [("gw-1", "'gw-1'"), ("it's", r"'it\'s'"), ("a\\' OR '1", r"'a\\\' OR \'1'")],
)
def test_a_literal_ends_where_its_text_ends(text: str, written: str) -> None:
    assert literal(text) == written


def test_a_path_is_one_name() -> None:
    assert quoted("/a`b") == "/a``b"
