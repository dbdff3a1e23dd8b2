"""`oncegate bridge`: what it runs with, and what Home Assistant learns of the gateway."""

import socket
from pathlib import Path

import pytest

from gateway.cli.application import execute
from gateway.cli.services.prepared import PreparedBridge, PreparedIdle


def test_the_data_directory_of_the_command_line_counts(tmp_path: Path) -> None:
    service = execute(["bridge", "--data-dir", str(tmp_path), "--verbose"])
    assert isinstance(service, PreparedBridge)
    assert service.settings.data_dir == tmp_path
    assert (service.verbose, service.quiet) == (True, False)


@pytest.mark.parametrize(
    ("own", "topic"),
    [("", "gateway/cellar-7/availability"), ('availability_topic = "a/b"\n', "a/b")],
)
def test_with_home_assistant_states_have_a_topic_outside_the_sensors(
    tmp_path: Path, own: str, topic: str
) -> None:
    file = tmp_path / "gateway.toml"
    keys = f'[gateway]\nid = "cellar-7"\n[bridge]\n{own}'
    file.write_text(f'{keys}home_assistant_prefix = "homeassistant"\n')
    service = execute(["bridge", "--config", str(file)])
    assert isinstance(service, PreparedBridge)
    assert service.settings.availability_topic == topic
    file.write_text(keys)
    service = execute(["bridge", "--config", str(file)])
    assert isinstance(service, PreparedBridge)
    assert service.settings.availability_topic == (topic if own else None)


def test_a_bridge_that_has_no_port_and_no_listener_has_nothing_to_do(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text("[[listeners]]\nprotocol = 'websocket'\n")
    assert isinstance(execute(["bridge", "--config", str(file)]), PreparedIdle)


@pytest.mark.parametrize(
    ("api", "url"),
    [
        ("", None),
        ("bind = '192.0.2.7'\nallow_anonymous_network = true\n", "http://192.0.2.7:8080/"),
        ("bind = '2001:db8::7'\nallow_anonymous_network = true\n", "http://[2001:db8::7]:8080/"),
        (
            "bind = '0.0.0.0'\nallow_anonymous_network = true\n",
            f"http://{socket.gethostname()}.local:8080/",
        ),
    ],
)
def test_home_assistant_is_given_the_page_where_the_network_reaches_it(
    tmp_path: Path, api: str, url: str | None
) -> None:
    file = tmp_path / "gateway.toml"
    head = "[gateway]\nid = 'cellar-7'\n[bridge]\nhome_assistant_prefix = 'homeassistant'\n"
    file.write_text(f"{head}[api]\n{api}")
    service = execute(["bridge", "--config", str(file)])
    assert isinstance(service, PreparedBridge)
    assert service.settings.page_url == url
    assert service.settings.problem_topic == "gateway/cellar-7/problem"
