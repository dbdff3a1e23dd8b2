"""The form of the history that a client prefers."""

import pytest

from api.rest.preferences import preference_for


@pytest.mark.parametrize(
    ("accept", "is_csv"),
    [
        ("text/csv", True),
        ("TEXT/CSV; charset=utf-8", True),
        ("text/csv, */*", True),
        ("*/*, text/csv", True),
        ("text/*", True),
        ("application/json;q=0.5, text/csv", True),
        ("text/csv, application/json", True),
        ("application/json, text/csv", False),
        ("text/csv;q=0.5, application/json", False),
        ("text/csv;q=0", False),
        ("text/csv;q=x", False),
        ("text/html, */*;q=0.8", False),
        ("*/*", False),
        ("", False),
        (";;,q=1,", False),
    ],
)
def test_the_form_that_a_client_prefers(accept: str, is_csv: bool) -> None:
    csv, json = (preference_for(each, accept) for each in ("text/csv", "application/json"))
    assert (csv > json) is is_csv
