"""Log lines about misbehaving clients: a limited number per second, the others are counted."""

import logging

import pytest

from gateway.broker.core.sessions.session import Session
from gateway.broker.core.statistics import NOTICES_MAX, Statistics
from gateway.broker.server.event_loop.notices import (
    DENIALS_PER_SECOND_MAX,
    NOTICES_PER_SECOND_MAX,
    log_notices,
)


def test_of_a_flood_of_notices_some_are_logged_and_the_others_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    statistics = Statistics()
    for number in range(NOTICES_MAX + 5):
        statistics.note(f"notice {number}", f"c{number}")
    with caplog.at_level(logging.WARNING):
        log_notices(statistics, 0.0)
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
        log_notices(statistics, 0.0)
        log_notices(statistics, 0.0)
    assert [record.getMessage() for record in caplog.records] == ["once"]


def test_what_rules_forbid_is_a_line_a_minute_for_each_client(
    caplog: pytest.LogCaptureFixture,
) -> None:
    statistics = Statistics()
    for number in range(DENIALS_PER_SECOND_MAX + 2):
        statistics.deny("publish_not_authorized", Session(number + 1, f"c{number}", False), "t")
    with caplog.at_level(logging.WARNING):
        log_notices(statistics, 0.0)
        assert len(caplog.records) == DENIALS_PER_SECOND_MAX
        log_notices(statistics, 1.0)
    assert len(caplog.records) == DENIALS_PER_SECOND_MAX + 2
    assert caplog.messages[0] == "client 'c0': publish_not_authorized once, 't' last"
    assert vars(caplog.records[0])["CLIENT_ID"] == "c0"
    assert statistics.errors == {"publish_not_authorized": DENIALS_PER_SECOND_MAX + 2}
