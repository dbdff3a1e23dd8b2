"""A banned client or user is refused at CONNECT."""

import pytest

from gateway.broker.wire.packets import Connack, Connect
from tests.broker.core.harness import Harness
from tests.broker.core.mqtt5 import connack_of
from tests.broker.core.owned import log_in


@pytest.mark.parametrize(("version", "code"), [(5, 0x8A), (4, 5), (3, 5)])
def test_a_banned_client_identifier_is_refused_in_each_version(
    harness: Harness, version: int, code: int
) -> None:
    harness.broker.bans.client_ids.add("c")
    client = log_in(harness, "ann", "c", version=version)
    assert client.take() == [Connack(False, code)]
    assert client.closed
    assert harness.broker.statistics.errors == {"banned": 1}
    assert connack_of(log_in(harness, "ann", "d", version=version)).reason_code == 0


def test_a_banned_user_is_refused_before_its_password_is_checked(harness: Harness) -> None:
    harness.broker.bans.users.add("ann")
    assert connack_of(log_in(harness, "ann", "c")).reason_code == 0x8A
    assert harness.broker.effects.logins == []
    assert connack_of(log_in(harness, "ben", "c")).reason_code == 0


def test_a_user_whom_a_certificate_proved_is_banned_as_well(harness: Harness) -> None:
    harness.broker.bans.users.add("ann")
    client = harness.open_connection(5)
    client.connection.proven_user = "ann"
    client.send(Connect(5, "c", True, 0, None, "ben", b"x"))
    harness.commit()
    assert connack_of(client).reason_code == 0x8A
