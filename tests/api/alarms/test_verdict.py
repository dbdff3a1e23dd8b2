"""The headline that sums up all present conditions."""

from api.alarms.conditions.condition import Condition, Level
from api.alarms.verdict import verdict_of

NOTE = Condition("program_absent", "uploader", Level.INFORMATION, "It has not reported.")
LOST = Condition("port_lost", "port gps", Level.ATTENTION, "It is lost.", "Check the plug.")
FULL = Condition("disk_full", "disk", Level.BAD, "Nothing new has been accepted.")
DOWN = Condition("broker_down", "broker", Level.BAD, "It does not answer.")


def test_without_conditions_all_is_well() -> None:
    verdict = verdict_of(())
    assert (verdict.level, verdict.headline, verdict.notices) == (Level.GOOD, "All is well", ())


def test_information_does_not_worsen_the_verdict() -> None:
    assert verdict_of((NOTE,)).headline == "All is well"


def test_warnings_are_counted() -> None:
    assert verdict_of((LOST, NOTE)).headline == "Running, 1 warning"
    assert verdict_of((LOST, LOST, NOTE)).headline == "Running, 2 warnings"


def test_a_critical_condition_is_the_headline() -> None:
    verdict = verdict_of((FULL, LOST))
    assert (verdict.level, verdict.headline) == (Level.BAD, "Disk is full")
    assert verdict_of((DOWN,)).headline == "Broker does not answer"
