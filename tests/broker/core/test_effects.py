"""Requests from the core to the event loop: the loop takes each of them once."""

from gateway.broker.core.effects import Effects, HandOver, PageRequest
from gateway.broker.core.limits import QUEUE_PAGE_MESSAGES
from gateway.broker.core.sessions.message import Delivery
from gateway.broker.core.sessions.session import Session


def stored_session(count: int) -> Session:
    session = Session(1, "c", True)
    session.stored_first = 7
    session.stored_count = count
    return session


def test_a_page_is_no_longer_than_what_is_stored_and_than_a_page() -> None:
    assert PageRequest(stored_session(3)).count == 3
    long = PageRequest(stored_session(QUEUE_PAGE_MESSAGES + 1))
    assert (long.first_position, long.count) == (7, QUEUE_PAGE_MESSAGES)


def test_the_newest_request_of_a_session_can_be_distinguished_from_those_before() -> None:
    session = stored_session(3)
    numbers = [PageRequest(session).number for _ in range(3)]
    assert numbers == [1, 2, 3]
    assert session.pages_requested == 3


def test_a_hand_over_covers_the_whole_queue_on_disk_and_what_was_in_flight() -> None:
    session = stored_session(QUEUE_PAGE_MESSAGES + 1)
    request = HandOver(session, [Delivery(session, None, 40, 1, 5)])
    assert (request.first_position, request.count) == (7, QUEUE_PAGE_MESSAGES + 1)
    assert request.contents == [40]


def test_what_was_taken_is_not_there_again() -> None:
    effects = Effects()
    page, hand_over = PageRequest(stored_session(1)), HandOver(stored_session(1), [])
    effects.pages.append(page)
    effects.hand_overs.append(hand_over)
    assert (effects.take_pages(), effects.take_hand_overs()) == ([page], [hand_over])
    assert (effects.take_pages(), effects.take_hand_overs()) == ([], [])
    assert (effects.take_writes(), effects.take_logins()) == ([], [])
