"""The message with which a broker ends: what happened, what remains true, and the fix."""

import pytest

from gateway.broker.server.commit.faults import StoreFailed, fault_of_broker, fault_of_writing

FAULTS = [
    fault_of_writing("the journal", OSError(5, "Input/output error")),
    fault_of_broker(AssertionError("a slice without a walk")),
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_line_that_states_that_nothing_was_acknowledged(fault: StoreFailed) -> None:
    assert "\n" not in str(fault)
    assert "has been acknowledged" in str(fault)
    assert "again" in str(fault), "what to do"


def test_a_fault_names_what_was_wrong() -> None:
    assert str(FAULTS[0]).startswith("cannot write the journal: Input/output error;")
    assert "AssertionError: a slice without a walk" in str(FAULTS[1])
