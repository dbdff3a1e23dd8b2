"""Sections that may occur only once in the file."""

from pathlib import Path

import pytest

from gateway.configuration.sections import Disk, Gateway, Mqtt


def test_both_control_sockets_are_in_the_data_directory_unless_another_is_set() -> None:
    gateway = Gateway(data_dir=Path("/srv/x"))
    assert gateway.control_socket == Path("/srv/x/control.sock")
    assert gateway.status_socket == Path("/srv/x/status.sock")
    elsewhere = Gateway(data_dir=Path("/srv/x"), control_dir=Path("/run/y"))
    assert elsewhere.control_socket == Path("/run/y/control.sock")
    assert elsewhere.status_socket == Path("/run/y/status.sock")


def test_a_section_is_immutable_and_equal_to_another_with_the_same_values() -> None:
    assert Mqtt(max_inflight=32) == Mqtt()
    assert Mqtt(max_inflight=31) != Mqtt()
    with pytest.raises(AttributeError):
        Disk().reserve = 7  # type: ignore[misc]
