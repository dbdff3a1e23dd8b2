"""Requests to the broker for a search of clients."""

from api.models.session_filters import Search, Sort, State


def test_only_what_was_chosen_is_asked_for() -> None:
    assert (Search().chosen, Search().is_narrow) == ({}, False)
    assert (Search(sort=Sort.QUEUED).chosen, Search(sort=Sort.QUEUED).is_narrow) == (
        {"sort": "queued"},
        False,
    )
    narrow = Search(search="a", user="anna", state=State.AWAY)
    assert narrow.chosen == {"search": "a", "user": "anna", "state": "away"}
    assert narrow.is_narrow
