from gateway.tools.audit.session_state import (
    PAGE_NUMBERS,
    InFlight,
    Marks,
    SessionState,
    Waiting,
)


def test_marks_hold_each_number_once_across_pages() -> None:
    marks = Marks()
    numbers = [0, 1, 7, 8, PAGE_NUMBERS - 1, PAGE_NUMBERS, 5 * PAGE_NUMBERS + 3]
    assert [marks.add(number) for number in numbers] == [True] * len(numbers)
    assert [marks.add(number) for number in numbers] == [False] * len(numbers)
    assert [number for number in range(2 * PAGE_NUMBERS) if number in marks] == numbers[:-1]
    assert 5 * PAGE_NUMBERS + 2 not in marks


def test_a_session_leaves_to_others_what_waits_and_what_is_in_flight_at_qos_1() -> None:
    session = SessionState(1, "client", persistent=True, may_be_5=False, epoch=0)
    waiting = Waiting(2, 12, 2, sequence=5, epoch=0)
    once, twice = (InFlight(qos, 10 + qos, qos, sequence=qos, epoch=0) for qos in (1, 2))
    session.queue.append(waiting)
    session.outbound = {1: once, 2: twice}
    assert session.unfinished() == [waiting, once]


def test_behind_a_break_the_next_position_is_not_known() -> None:
    session = SessionState(1, "client", persistent=True, may_be_5=False, epoch=0)
    session.lose_track()
    assert (session.next_position, session.entered_from) == (None, None)
