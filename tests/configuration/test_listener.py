"""`[[listeners]]`: an address, and who reaches it."""

from pathlib import Path

from gateway.cli.up import environment_of
from gateway.configuration import load


def test_listeners_that_were_written_out_are_read_again_as_they_were(file: Path) -> None:
    file.write_text(
        "[[listeners]]\n[[listeners]]\nprotocol = 'websocket'\norigins = ['HTTPS://A.example']\n"
        "[[listeners]]\nprotocol = 'unix'\npath = 'mqtt.sock'\nmax_connections = 3\n"
    )
    configuration = load(file, {}, {})
    written = environment_of(configuration, {})["ONCEGATE_LISTENERS"]
    again = load(None, {"ONCEGATE_LISTENERS": written}, {})
    assert again.listeners == configuration.listeners
    assert again.listeners[1].origins == ("https://a.example",)
