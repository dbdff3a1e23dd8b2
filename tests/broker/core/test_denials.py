"""Forbidden actions use limited memory and log a limited number of lines."""

from gateway.broker.core.denials import ENTRIES_MAX, SECONDS_BETWEEN_LINES, Denials


def test_the_first_is_reported_immediately_and_the_next_a_minute_later_with_their_number() -> None:
    denials = Denials()
    denials.add("publish_not_authorized", "c", "anna", "t")
    line = "client 'c' of user 'anna': publish_not_authorized"
    assert denials.take(0.0, 10) == [(f"{line} once, 't' last", "c")]
    for number in range(500):
        denials.add("publish_not_authorized", "c", "anna", f"t{number}")
        assert denials.take(number / 10, 10) == []
    found = denials.take(SECONDS_BETWEEN_LINES, 10)
    assert found == [(f"{line} 500 times, 't499' last", "c")]


def test_kinds_and_clients_are_kept_apart_and_what_is_over_is_forgotten() -> None:
    denials = Denials()
    for reason, client_id in (("a", "c"), ("b", "c"), ("a", "d")):
        denials.add(reason, client_id, None, "t")
    assert len(denials.take(0.0, 2)) == 2
    assert len(denials.take(0.0, 2)) == 1
    assert denials.take(SECONDS_BETWEEN_LINES, 2) == []
    denials.add("a", "c", None, "t")
    assert denials.take(SECONDS_BETWEEN_LINES, 2) == [("client 'c': a once, 't' last", "c")]


def test_a_flood_of_clients_is_counted_and_not_kept() -> None:
    denials = Denials()
    for number in range(ENTRIES_MAX + 7):
        denials.add("a", str(number), None, "t")
    lines = denials.take(0.0, ENTRIES_MAX + 10)
    assert len(lines) == ENTRIES_MAX + 1
    assert lines[-1] == ("7 denials of further clients; the counters have them", "")


def test_a_topic_is_cut_to_what_fits_into_a_line() -> None:
    denials = Denials()
    denials.add("a", "c", None, "x" * 65_535)
    assert len(denials.take(0.0, 10)[0][0]) < 300
