"""A broker to which no connection is possible is refused when its settings are created."""

import pytest
from firmware_bridge.mqtt.settings import BrokerSettings


def test_a_session_needs_a_name() -> None:
    with pytest.raises(ValueError, match="client_id is empty"):
        BrokerSettings("127.0.0.1", 1883, "")


def test_a_password_needs_a_user_name() -> None:
    BrokerSettings("127.0.0.1", 1883, "bridge", "user", "secret")
    with pytest.raises(ValueError, match="without username"):
        BrokerSettings("127.0.0.1", 1883, "bridge", None, "secret")
