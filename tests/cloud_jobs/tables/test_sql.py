"""Queries use the names and the literals of the engine that runs them."""

from __future__ import annotations

import pytest

from cloud_jobs.tables.sql import Values, quoted_text, rendered


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "NULL"), (True, "TRUE"), (-7, "-7"), ("it's", "'it''s'"), ([1, "a"], "(1, 'a')"),
        ([], "(NULL)"), ([(1, "a"), (2, None)], "(1, 'a'), (2, NULL)"),
        ("{t} :other", "'{t} :other'"),
    ],
)  # fmt: skip
def test_values_become_literals(value: Values, written: str) -> None:
    sql = rendered("{t} :value {t}", {"value": value}, lambda _: "`a:b`", quoted_text)
    assert sql == f"`a:b` {written} `a:b`"


def test_a_value_that_is_not_given_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(KeyError):
        rendered("SELECT :value", {}, str, quoted_text)
