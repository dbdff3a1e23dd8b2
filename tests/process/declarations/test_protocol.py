"""The default settings of every protocol."""

from gateway.process.declarations.protocol import ProtocolSettings
from gateway.process.declarations.section import keys_of


def test_a_protocol_without_keys_names_no_device_and_works_with_any_line() -> None:
    assert keys_of(ProtocolSettings) == ()
    assert ProtocolSettings().device_names == ()
    assert ProtocolSettings.data_bits == (7, 8)
    assert ProtocolSettings().value_names("any") is None
