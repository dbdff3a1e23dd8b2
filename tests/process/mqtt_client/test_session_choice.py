"""The session that the next connection opens."""

import pytest

from gateway.process.mqtt_client.session_choice import SessionChoice, SessionUse
from gateway.process.mqtt_client.session_name import is_name_of


def test_a_client_without_a_session_begins_one_with_a_new_name_each_time() -> None:
    choice = SessionChoice("gw")
    name, use = choice.choose(None)
    assert use is SessionUse.BEGIN
    assert is_name_of(name, "gw")
    assert choice.choose(None)[0] != name


def test_a_new_name_that_the_broker_knows_is_a_fault_and_its_session_is_left_alone() -> None:
    choice = SessionChoice("gw")
    name, use = choice.choose(None)
    assert choice.give_up(name, use) == f"it already has a session with the new name {name}"
    assert choice.choose(None)[1] is SessionUse.BEGIN


def test_a_lost_session_is_deleted_once_before_another_begins() -> None:
    choice = SessionChoice("gw")
    assert choice.choose("gw-1") == ("gw-1", SessionUse.CONTINUE)
    assert choice.give_up("gw-1", SessionUse.CONTINUE) is None
    assert choice.choose(None) == ("gw-1", SessionUse.DELETE)
    assert choice.choose(None) == ("gw-1", SessionUse.DELETE)  # the first attempt failed
    assert choice.give_up("gw-1", SessionUse.DELETE) is None
    assert choice.choose(None)[1] is SessionUse.BEGIN


@pytest.mark.parametrize(
    ("use", "session_present", "accepted"),
    [
        (SessionUse.BEGIN, False, True),
        (SessionUse.BEGIN, True, False),
        (SessionUse.CONTINUE, True, True),
        (SessionUse.CONTINUE, False, False),
        (SessionUse.DELETE, True, False),
        (SessionUse.DELETE, False, False),
    ],
)
def test_only_the_expected_session_is_used(
    use: SessionUse, session_present: bool, accepted: bool
) -> None:
    assert use.accepts(session_present=session_present) is accepted
