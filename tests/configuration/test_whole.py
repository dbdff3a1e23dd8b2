"""Values that are derived from several sections."""

from pathlib import Path

import pytest

from gateway.configuration import load


def test_nothing_at_all_is_a_whole_configuration() -> None:
    configuration = load(None, {}, {}, None)
    assert configuration.listeners[0].bind == "127.0.0.1"
    assert configuration.listeners[0].port == 1883
    assert configuration.mqtt.max_inflight == 32
    assert configuration.serial == ()


def test_the_bridge_finds_the_first_listener_unless_it_is_configured_otherwise() -> None:
    everywhere = '[{bind = "0.0.0.0", port = 1884, allow_anonymous_network = true}]'
    assert load(None, {"ONCEGATE_LISTENERS": everywhere}, {}, None).broker_address == (
        "127.0.0.1",
        1884,
    )
    environment = {"ONCEGATE_BRIDGE_BROKER": "broker.example:1885"}
    assert load(None, environment, {}, None).broker_address == ("broker.example", 1885)


def test_the_bridge_passes_by_listeners_that_do_not_speak_plain_mqtt(file: Path) -> None:
    file.write_text(
        "[[listeners]]\nprotocol = 'websocket'\n"
        "[[listeners]]\nprotocol = 'unix'\npath = '/run/oncegate/mqtt.sock'\n"
        "[[listeners]]\nport = 1890\nproxy_protocol = true\nallow_anonymous_network = true\n"
        "[[listeners]]\nport = 1891\n"
    )
    configuration = load(file, {}, {}, None)
    assert configuration.broker_address == ("127.0.0.1", 1891)
    assert configuration.listeners[0].port == 8083
    assert configuration.listeners[1].place == "/run/oncegate/mqtt.sock"


def test_the_upload_target_is_a_directory_of_the_data_directory_unless_set() -> None:
    given = load(None, {}, {"gateway.data_dir": "/srv/a b"}, None)
    assert given.upload_target == "file:///srv/a%20b/uploaded"
    assert load(None, {"ONCEGATE_UPLOAD_TARGET": "s3://b/p"}, {}, None).upload_target == "s3://b/p"


@pytest.mark.parametrize(
    ("content", "window"),
    [
        ("", 100),
        ("[mqtt]\nmax_awaiting_rel = 7", 7),
        ("[mqtt]\nmax_awaiting_rel = 5000", 100),
        ("[mqtt]\nmax_awaiting_rel = 7\n[bridge]\nwindow = 3", 3),
        ("[mqtt]\nmax_awaiting_rel = 7\n[bridge]\nbroker = 'elsewhere:1883'", 100),
    ],
)
def test_the_bridge_has_no_more_under_way_than_its_broker_holds(
    tmp_path: Path, content: str, window: int
) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(content)
    assert load(file, {}, {}, None).bridge_window == window
