"""What a port is called."""

from pathlib import Path

from tests.bridge.running import port_of


def test_a_port_without_a_device_lends_its_own_name() -> None:
    assert port_of("a", Path("x"), "json").device_name == "a"
    assert port_of("a", Path("x"), "json", device="kettle").device_name == "kettle"
