"""Names of sessions at a broker."""

import pytest

from gateway.process.mqtt_client.session_name import is_name_of, new_name


@pytest.mark.parametrize(
    ("name", "client_id", "belongs"),
    [
        ("oncegate-bridge", "oncegate-bridge", False),
        ("oncegate-bridge-0123abcd", "oncegate-bridge", True),
        ("oncegate-bridge", "oncega", False),
        ("oncegate-bridge-0123abcd", "oncegate", False),
        ("other", "oncegate-bridge", False),
    ],
)
def test_a_name_belongs_to_the_client_id_that_it_was_made_from(
    name: str, client_id: str, belongs: bool
) -> None:
    assert is_name_of(name, client_id) == belongs
    assert is_name_of(new_name(client_id), client_id)
    assert new_name(client_id) != new_name(client_id)
