"""Values that cannot work are refused when the settings are created."""

from pathlib import Path

import pytest

from gateway.uplink.routes import Route
from gateway.uplink.settings import Endpoint, UplinkSettings


def endpoint(**changes: object) -> Endpoint:
    given: dict[str, object] = {"host": "h", "port": 1, "client_id": "c", **changes}
    return Endpoint(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("changes", [{"client_id": ""}, {"password": "x"}])
def test_an_endpoint_needs_a_name_and_a_user_for_its_password(changes: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="uplink"):
        endpoint(**changes)


@pytest.mark.parametrize("changes", [{"routes": ()}, {"window": 0}, {"window": 65_001}])
def test_an_uplink_carries_something_and_keeps_room_for_its_subscriptions(
    changes: dict[str, object],
) -> None:
    given: dict[str, object] = {
        "data_dir": Path("d"),
        "gateway_id": "g",
        "local": endpoint(),
        "remote": endpoint(),
        "routes": (Route(filter="#"),),
        "control_socket": Path("s"),
    }
    with pytest.raises(ValueError, match="uplink"):
        UplinkSettings(**(given | changes))  # type: ignore[arg-type]


def test_a_password_is_not_shown() -> None:
    assert "secret" not in repr(endpoint(username="u", password="secret"))  # noqa: S106
