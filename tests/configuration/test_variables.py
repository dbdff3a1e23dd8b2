"""Environment variables that begin with our prefix and set no key."""

import os

import pytest

from gateway.cli.common.configuration_file import FILE_VARIABLE
from gateway.cli.running.processes import READY_VARIABLE, SUPERVISOR_VARIABLE
from gateway.configuration.loading import variables
from gateway.configuration.variables import RESERVED, is_reserved


def test_what_the_command_and_its_processes_read_is_reserved() -> None:
    assert {FILE_VARIABLE, READY_VARIABLE, SUPERVISOR_VARIABLE} <= {*RESERVED}
    assert is_reserved("ONCEGATE_TEST_SEED", "1")


def test_no_reserved_name_is_that_of_a_key() -> None:
    assert not {*RESERVED} & {*variables()}
    assert not [name for name in variables() if is_reserved(name, os.devnull)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ONCEGATE_SERVICE_HOST", "10.0.0.11"),
        ("ONCEGATE_SERVICE_PORT", "1883"),
        ("ONCEGATE_SERVICE_PORT_MQTT", "1883"),
        ("ONCEGATE_PAGE_SERVICE_HOST", "10.0.0.12"),
        ("ONCEGATE_PORT", "tcp://10.0.0.11:1883"),
        ("ONCEGATE_PORT_1883_TCP", "tcp://10.0.0.11:1883"),
        ("ONCEGATE_PORT_1883_TCP_ADDR", "10.0.0.11"),
    ],
)
def test_what_kubernetes_sets_for_a_service_of_this_name_is_reserved(name: str, value: str) -> None:
    assert is_reserved(name, value)


@pytest.mark.parametrize("name", ["ONCEGATE_PORT", "ONCEGATE_MQTT_PORT", "ONCEGATE_READY"])
def test_what_looks_like_a_mistyped_key_is_not_reserved(name: str) -> None:
    assert not is_reserved(name, "1884")
