"""Names of files in a data directory, and the part of a backup that each belongs to."""

import pytest

from gateway.tools.backup.data_names import is_data, is_identity, is_set_aside


@pytest.mark.parametrize(
    ("path", "identity", "data", "aside"),
    [
        ("gateway-id", True, False, False),
        ("log/signing-key", True, False, True),
        ("tenants/acme/log/signing-key.pub", True, False, True),
        ("log/chain.json", False, True, True),
        ("tenants/acme/broker.db", False, True, True),
        ("broker.db-wal", False, True, True),
        ("broker.db-shm", False, False, True),
        ("history/alarms.db", False, True, True),
        ("bridge/outbox.db", False, True, True),
        ("log/lock", False, False, True),
        ("control.sock", False, False, False),
        ("uploaded/segment", False, False, False),
        ("tenants", False, False, False),
        ("passwords", False, False, False),
    ],
)
def test_each_name_is_of_one_kind(path: str, identity: bool, data: bool, aside: bool) -> None:
    assert (is_identity(path), is_data(path), is_set_aside(path)) == (identity, data, aside)
