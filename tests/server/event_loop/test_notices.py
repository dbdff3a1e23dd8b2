"""Lines about misbehaving clients: some of them a second, the others counted."""

import logging

import pytest

from gateway.core.statistics import NOTICES_MAX, Statistics
from gateway.server.event_loop.notices import NOTICES_PER_SECOND_MAX, log_notices


def test_of_a_flood_of_notices_some_are_logged_and_the_others_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    statistics = Statistics()
    for number in range(NOTICES_MAX + 5):
        statistics.note(f"notice {number}", f"c{number}")
    with caplog.at_level(logging.WARNING):
        log_notices(statistics)
    lines = [record.getMessage() for record in caplog.records]
    left_out = NOTICES_MAX + 5 - NOTICES_PER_SECOND_MAX
    assert lines == [
        *(f"notice {number}" for number in range(NOTICES_PER_SECOND_MAX)),
        f"{left_out} more such events in this second; the counters have them",
    ]
    assert vars(caplog.records[3])["CLIENT_ID"] == "c3"


def test_what_was_logged_is_not_logged_again(caplog: pytest.LogCaptureFixture) -> None:
    statistics = Statistics()
    statistics.note("once")
    with caplog.at_level(logging.WARNING):
        log_notices(statistics)
        log_notices(statistics)
    assert [record.getMessage() for record in caplog.records] == ["once"]
