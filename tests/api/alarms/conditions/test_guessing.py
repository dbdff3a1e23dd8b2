"""The alarm condition for wrong passwords within the last hour."""

from typing import Any

from api.alarms.conditions.guessing import WINDOW_SECONDS, Guessing
from api.models.broker import BrokerStatus
from tests.api import recorded


def status(refused: int, **changes: Any) -> BrokerStatus:
    errors = {"bad_user_name_or_password": refused, "malformed_packet": 1000}
    return BrokerStatus.model_validate({**recorded.status(), "errors": errors, **changes})


def test_logins_refused_within_an_hour_are_counted() -> None:
    guessing = Guessing()
    assert guessing.conditions(status(500), 20, now=0.0) == ()
    assert guessing.conditions(status(519), 20, now=30.0) == ()
    [condition] = guessing.conditions(status(520), 20, now=60.0)
    assert condition.id == "password_guessing"
    assert condition.sentence.startswith("20 logins of clients were refused")
    for minute in range(2, 62):
        found = guessing.conditions(status(520), 20, now=minute * 60.0)
    assert found == (), "an hour later"


def test_a_broker_that_has_restarted_counts_from_nothing() -> None:
    guessing = Guessing()
    guessing.conditions(status(500), 20, now=0.0)
    assert guessing.conditions(status(100, boot="f" * 16), 20, now=WINDOW_SECONDS / 2) == ()
