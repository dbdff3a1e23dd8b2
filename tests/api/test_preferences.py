"""Preferences of clients: CSV or JSON, a page or problem details, a format of metrics."""

import pytest

from api.preferences import preference_for, prefers_page


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
        ("text/csv;q=nan", False),
        ("text/csv;q=-1", False),
        ("application/json, text/csv;q=2", False),
        ("text/html, */*;q=0.8", False),
        ("*/*", False),
        ("", False),
        (";;,q=1,", False),
    ],
)
def test_the_form_that_a_client_prefers(accept: str, is_csv: bool) -> None:
    csv, json = (preference_for(each, accept) for each in ("text/csv", "application/json"))
    assert (csv > json) is is_csv


@pytest.mark.parametrize(
    ("accept", "is_page"),
    [
        ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", True),
        ("text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", True),
        ("TEXT/HTML", True),
        ("text/*", True),
        ("text/html;q=0, application/json", False),
        ("text/html;q=0, */*", False),
        ("application/json, text/html;q=0.5", False),
        ("application/problem+json, text/html;q=0.9", False),
        ("application/json, text/plain, */*", False),
        ("application/vnd.text/html+json", False),
        ("*/*", False),
        ("", False),
    ],
)
def test_a_browser_prefers_a_page_and_a_program_does_not(accept: str, is_page: bool) -> None:
    assert prefers_page(accept) is is_page
