"""Arguments of actions are checked strictly."""

import pytest
from pydantic import ValidationError

from api.models.actions import BAN_SECONDS_MAX, NewBan
from gateway.broker.access.bans_file import REASON_CHARACTERS_MAX, Kind
from gateway.broker.server.control.ban_requests import SECONDS_MAX

ALL = {"kind": "user", "value": "x"}


def test_its_bounds_are_those_of_the_broker() -> None:
    assert BAN_SECONDS_MAX == SECONDS_MAX
    for kind in Kind:
        assert NewBan.model_validate(ALL | {"kind": kind.value}).seconds is None
    assert NewBan.model_validate(ALL | {"reason": "x" * REASON_CHARACTERS_MAX})
    with pytest.raises(ValidationError):
        NewBan.model_validate(ALL | {"reason": "x" * (REASON_CHARACTERS_MAX + 1)})


@pytest.mark.parametrize(
    "wrong",
    [{"seconds": True}, {"seconds": "7"}, {"seconds": -1}, {"value": ""}, {"by": "carl"}],
)
def test_what_is_not_understood_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        NewBan.model_validate(ALL | wrong)
