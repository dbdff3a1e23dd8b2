from tests.audit_checks.events import (
    begin,
    completed,
    dropped,
    held,
    life,
    opened,
    queued,
    released,
    started,
    subscribed,
)
from tests.tools.audit.logs import checked, exceptions_of


def test_a_message_that_is_dropped_in_flight_still_frees_its_identifier() -> None:
    sent = begin(held(1), released(1), started(1, 0), opened(5))
    check = checked(*sent, dropped(1, "too_large"), completed(1), *life(2, 1))
    counts = check.context.counts
    assert (counts.dropped, counts.completed, counts.refused) == (1, 1, 0)
    assert exceptions_of(check) == []


def test_a_client_of_mqtt_5_may_refuse_a_message_with_pubrec_and_one_of_mqtt_3_may_not() -> None:
    for protocol, checks in ((5, []), (4, ["delivery"])):
        check = checked(
            opened(1), opened(2, protocol=protocol), subscribed(2), held(1), released(1),
            started(1, 0), completed(1),
        )  # fmt: skip
        assert check.context.counts.refused == 1
        assert [one.check for one in exceptions_of(check)] == checks


def test_behind_a_break_an_entry_may_be_taken_from_the_middle_of_the_queue() -> None:
    check = checked(*begin(held(1), released(1), queued(1, 0), held(2), released(2), queued(2, 1)))
    check.break_here()
    checked(dropped(2, "expired"), check=check)
    (found,) = exceptions_of(check)
    assert (found.verdict, found.check, found.message) == ("inconclusive", "delivery", 1)
    assert "passed over" in found.detail
