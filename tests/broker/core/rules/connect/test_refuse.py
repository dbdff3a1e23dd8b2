"""A refused CONNECT: the reason code in the CONNACK, and the close after it."""

import pytest

from tests.broker.core.harness import Harness
from tests.broker.core.mqtt5 import (
    connack_of,
    connect,
)


@pytest.mark.statement("MQTT5-3.1.2-24")
@pytest.mark.parametrize("reason", ["bad_authentication_method", "max_connections"])
def test_a_refusal_that_exceeds_the_maximum_packet_size_is_a_close_without_a_word(
    harness: Harness, reason: str
) -> None:
    if reason == "max_connections":
        harness.limits.max_connections = 0
    client = connect(
        harness, "c", maximum_packet_size_bytes=4, authentication_method="no such method"
    )
    assert client.take() == []
    assert client.closed
    assert harness.broker.statistics.errors == {reason: 1}
    client = connect(
        harness, "c", maximum_packet_size_bytes=5, authentication_method="no such method"
    )
    assert connack_of(client).reason_code >= 0x80
