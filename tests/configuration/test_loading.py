"""Where values come from, in which order they win, and what they become."""

from pathlib import Path

import pytest
from firmware_bridge.protocols.table import PROTOCOLS

from gateway.cli.bridge import bridge_settings_of
from gateway.cli.up import environment_of
from gateway.configuration import Configuration, ConfigurationError, load
from gateway.configuration.description import tables
from gateway.configuration.loading import FILE_BYTES_MAX, variables
from gateway.keys.section import keys_of
from gateway.keys.serial_line import Line


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gateway.toml"


def test_nothing_at_all_is_a_whole_configuration() -> None:
    configuration = load(None, {}, {})
    assert configuration.listeners[0].bind == "127.0.0.1"
    assert configuration.listeners[0].port == 1883
    assert configuration.mqtt.max_inflight == 32
    assert configuration.serial == ()


def test_durations_become_seconds_sizes_bytes_and_paths_paths(file: Path) -> None:
    file.write_text(
        """
        [gateway]
        data_dir = "/srv/gateway"
        [mqtt]
        connect_timeout = "1500ms"
        max_keep_alive = "5m"
        retry_interval = "never"
        await_rel_timeout = "2h"
        max_packet_size = "1.5MiB"
        max_mqueue_bytes = "8MB"
        """
    )
    configuration = load(file, {}, {})
    assert configuration.gateway.data_dir == Path("/srv/gateway")
    assert configuration.gateway.control_socket == Path("/srv/gateway/control.sock")
    assert configuration.mqtt.connect_timeout == 1.5
    assert configuration.mqtt.max_keep_alive == 300.0
    assert configuration.mqtt.retry_interval is None
    assert configuration.mqtt.await_rel_timeout == 7200.0
    assert configuration.mqtt.max_packet_size == 1_572_864
    assert configuration.mqtt.max_mqueue_bytes == 8_000_000


def test_the_environment_wins_over_the_file_and_options_over_both(file: Path) -> None:
    file.write_text("[mqtt]\nmax_inflight = 1\nmax_awaiting_rel = 200\n[api]\nport = 1\n")
    environment = {"ONCEGATE_MQTT_MAX_INFLIGHT": "2", "ONCEGATE_API_PORT": "2"}
    configuration = load(file, environment, {"api.port": 3, "gateway.id": None})
    assert configuration.mqtt.max_inflight == 2
    assert configuration.mqtt.max_awaiting_rel == 200
    assert configuration.api.port == 3


def test_an_environment_text_needs_no_quotes_and_may_have_them() -> None:
    environment = {
        "ONCEGATE_MQTT_RETRY_INTERVAL": "20s",
        "ONCEGATE_MQTT_MAX_PACKET_SIZE": '"4MiB"',
        "ONCEGATE_MQTT_MQUEUE_STORE_QOS0": "true",
        "ONCEGATE_BRIDGE_USERNAME": "12345",
        "ONCEGATE_SESSION_LOG_PAYLOAD_TOPICS": '["a/#", "b"]',
        "ONCEGATE_GATEWAY_DATA_DIR": "/srv/2024",
    }
    configuration = load(None, environment, {})
    assert configuration.mqtt.retry_interval == 20.0
    assert configuration.mqtt.max_packet_size == 4 << 20
    assert configuration.mqtt.mqueue_store_qos0 is True
    assert configuration.bridge.username == "12345"
    assert configuration.session_log.payload_topics == ("a/#", "b")
    assert configuration.gateway.data_dir == Path("/srv/2024")


@pytest.mark.parametrize(
    "text",
    [
        '[{name = "gps", path = "/dev/ttyS0", framing = "nmea", units = {a = "Cel"}}]',
        '[{"name": "gps", "path": "/dev/ttyS0", "framing": "nmea", "units": {"a": "Cel"}}]',
    ],
)
def test_a_list_of_tables_is_toml_or_json_in_the_environment(text: str) -> None:
    port = load(None, {"ONCEGATE_SERIAL": text}, {}, PROTOCOLS).serial[0]
    assert port.name == "gps"
    assert port.path == Path("/dev/ttyS0")
    assert port.units == {"a": "Cel"}


@pytest.mark.parametrize(
    ("keys", "line", "shown"),
    [
        ("", Line(115_200, 8, "N", 1), None),
        ("baud_rate = 9600", Line(9600, 8, "N", 1), None),
        ("line = '9600 7E1'", Line(9600, 7, "E", 1), "9600 7E1"),
        ("line = '115200 8N1'", Line(115_200, 8, "N", 1), "115200 8N1"),
        ("line = '2400 8O2'", Line(2400, 8, "O", 2), "2400 8O2"),
    ],
)
def test_a_serial_line_is_its_rate_or_all_of_its_settings(
    file: Path, keys: str, line: Line, shown: str | None
) -> None:
    file.write_text(f"[[serial]]\nname = 'scale'\npath = '/dev/ttyS0'\nframing = 'json'\n{keys}")
    configuration = load(file, {}, {}, PROTOCOLS)
    assert configuration.serial[0].line_settings == line
    assert tables(configuration)["serial"][0]["line"] == shown
    (port,) = bridge_settings_of(configuration).ports
    assert port.line == line


def test_a_line_end_in_a_variable_sets_no_second_key() -> None:
    text = "8080\n[mqtt]\nmax_inflight = 1"
    with pytest.raises(ConfigurationError, match="ONCEGATE_API_PORT"):
        load(None, {"ONCEGATE_API_PORT": text}, {})


def test_the_listen_option_moves_the_first_listener_and_keeps_its_rules(file: Path) -> None:
    file.write_text(
        "[access]\npassword_file = 'p'\n"
        "[[listeners]]\nport = 1\nanonymous = false\n[[listeners]]\nport = 2\n"
    )
    configuration = load(file, {}, {"listen": "[::1]:1999"})
    (listener,) = configuration.listeners
    assert (listener.bind, listener.port, listener.anonymous) == ("::1", 1999, False)
    assert configuration.broker_address == ("::1", 1999)


def test_the_bridge_finds_the_first_listener_unless_it_is_told_otherwise() -> None:
    everywhere = '[{bind = "0.0.0.0", port = 1884, allow_anonymous_network = true}]'
    assert load(None, {"ONCEGATE_LISTENERS": everywhere}, {}).broker_address == ("127.0.0.1", 1884)
    told = {"ONCEGATE_BRIDGE_BROKER": "broker.example:1885"}
    assert load(None, told, {}).broker_address == ("broker.example", 1885)


def test_the_bridge_passes_by_listeners_that_do_not_speak_plain_mqtt(file: Path) -> None:
    file.write_text(
        "[[listeners]]\nprotocol = 'websocket'\n"
        "[[listeners]]\nprotocol = 'unix'\npath = '/run/oncegate/mqtt.sock'\n"
        "[[listeners]]\nport = 1890\nproxy_protocol = true\nallow_anonymous_network = true\n"
        "[[listeners]]\nport = 1891\n"
    )
    configuration = load(file, {}, {})
    assert configuration.broker_address == ("127.0.0.1", 1891)
    assert configuration.listeners[0].port == 8083
    assert configuration.listeners[1].place == "/run/oncegate/mqtt.sock"


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


def test_the_upload_target_is_a_directory_of_the_data_directory_unless_set() -> None:
    given = load(None, {}, {"gateway.data_dir": "/srv/a b"})
    assert given.upload_target == "file:///srv/a%20b/uploaded"
    assert load(None, {"ONCEGATE_UPLOAD_TARGET": "s3://b/p"}, {}).upload_target == "s3://b/p"


def test_every_key_has_an_environment_variable() -> None:
    names = variables()
    assert names["ONCEGATE_GATEWAY_ID"] == ("gateway", "id")
    assert names["ONCEGATE_SESSION_LOG_SEAL_AFTER"] == ("session_log", "seal_after")
    assert names["ONCEGATE_SERIAL"] == ("serial",)
    assert {place[0] for place in names.values()} == set(keys_of(Configuration))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[mqtt\n", "is not TOML"),
        (b"\xff", "is not UTF-8"),
        (b"a = " + b"[" * 5000, "is not"),
        (b"#" * (FILE_BYTES_MAX + 1), "is it the right file?"),
    ],
    ids=["syntax", "encoding", "nesting", "size"],
)
def test_a_file_that_is_no_configuration_is_refused_in_one_line(
    file: Path, content: bytes, message: str
) -> None:
    file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=message) as refusal:
        load(file, {}, {})
    (line,) = refusal.value.problems
    assert line.startswith(str(file))
    assert "\n" not in line


def test_a_missing_file_is_refused_with_its_name(file: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        load(file, {}, {})


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
    assert load(file, {}, {}).bridge_window == window
