"""Sources of values, their priority, and the values that result."""

from pathlib import Path

import pytest
from firmware_bridge.protocols.table import PROTOCOLS
from hypothesis import given
from hypothesis import strategies as st

from gateway.configuration import Configuration, ConfigurationError, load
from gateway.configuration.loading import FILE_BYTES_MAX, variables
from gateway.process.declarations.section import keys_of


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
    configuration = load(file, {}, {}, None)
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
    configuration = load(file, environment, {"api.port": 3, "gateway.id": None}, None)
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
    configuration = load(None, environment, {}, None)
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


def test_a_line_end_in_a_variable_sets_no_second_key() -> None:
    text = "8080\n[mqtt]\nmax_inflight = 1"
    with pytest.raises(ConfigurationError, match="ONCEGATE_API_PORT"):
        load(None, {"ONCEGATE_API_PORT": text}, {}, None)


def test_the_listen_option_moves_the_first_listener_and_keeps_its_rules(file: Path) -> None:
    file.write_text(
        "[access]\npassword_file = 'p'\n"
        "[[listeners]]\nport = 1\nanonymous = false\n[[listeners]]\nport = 2\n"
    )
    configuration = load(file, {}, {"listen": "[::1]:1999"}, None)
    (listener,) = configuration.listeners
    assert (listener.bind, listener.port, listener.anonymous) == ("::1", 1999, False)
    assert configuration.broker_address == ("::1", 1999)


def test_every_key_has_an_environment_variable() -> None:
    names = variables()
    assert names["ONCEGATE_GATEWAY_ID"] == ("gateway", "id")
    assert names["ONCEGATE_SESSION_LOG_SEAL_AFTER"] == ("session_log", "seal_after")
    assert names["ONCEGATE_SERIAL"] == ("serial",)
    assert {place[0] for place in names.values()} == set(keys_of(Configuration))


def test_a_byte_order_mark_of_an_editor_is_no_part_of_the_file(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf[mqtt]\r\nmax_connections = 10\r\n")
    assert load(file, {}, {}, None).mqtt.max_connections == 10


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
        load(file, {}, {}, None)
    (line,) = refusal.value.problems
    assert line.startswith(str(file))
    assert "\n" not in line


def test_a_missing_file_is_refused_with_its_name(file: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        load(file, {}, {}, None)


def test_a_mistake_in_the_environment_names_the_variable() -> None:
    with pytest.raises(ConfigurationError) as refusal:
        load(None, {"ONCEGATE_MQTT_MAX_INFLIGHT": "many"}, {}, None)
    (line,) = refusal.value.problems
    assert line.startswith(
        'ONCEGATE_MQTT_MAX_INFLIGHT: [mqtt] max_inflight = "many" is not allowed'
    )


def test_a_variable_that_sets_nothing_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match='did you mean "ONCEGATE_MQTT_MAX_INFLIGHT"'):
        load(None, {"ONCEGATE_MQTT_MAX_INFLIHGT": "1"}, {}, None)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("ONCEGATE_SEED", "ONCEGATE_SERIAL"),
        ("ONCEGATE_LISTENER", "ONCEGATE_LISTENERS"),
        ("ONCEGATE_CONFIGURATION", "ONCEGATE_CONFIG"),
        ("ONCEGATE_MQTT_PORT", "ONCEGATE_API_PORT"),
        ("ONCEGATE_" + 200 * "X", "ONCEGATE_"),
    ],
)
def test_any_other_name_that_begins_as_ours_is_refused_with_the_nearest(
    name: str, nearest: str
) -> None:
    with pytest.raises(ConfigurationError, match=f'^{name} sets no key .* mean "{nearest}'):
        load(None, {name: "1"}, {}, None)


def test_variables_that_are_not_ours_are_left_alone() -> None:
    load(None, {"ONCEGATE": "x", "PATH": "/bin", "ONCEGATE_TEST_SEED": "1"}, {}, None)


def test_mistakes_of_all_sources_are_reported_together(file: Path) -> None:
    file.write_text("[mqtt]\nmax_inflight = -1\n[[serial]]\nname = 'a'\n[api]\nport = 1883\n")
    environment = {"ONCEGATE_SEED": "1", "ONCEGATE_UPLOAD_TARGET": "x"}
    with pytest.raises(ConfigurationError) as refusal:
        load(file, environment, {"gateway.id": "A B"}, PROTOCOLS)
    problems = refusal.value.problems
    for part in (
        "SEED",
        "max_inflight",
        "path, usb and address",
        "target",
        "[gateway] id",
        "[api] port",
    ):
        assert sum(part in line for line in problems) == 1, part
    assert len(problems) == 6


def test_nothing_follows_from_what_could_not_be_read(file: Path) -> None:
    file.write_text("[access\npassword_file = 'p'\n")
    asking = {"ONCEGATE_LISTENERS": "[{anonymous = false}]"}
    with pytest.raises(ConfigurationError) as refusal:
        load(file, asking, {}, None)
    (line,) = refusal.value.problems
    assert "is not TOML" in line
    with pytest.raises(ConfigurationError) as refusal:
        load(None, {"ONCEGATE_LISTENERS": "oops"}, {"api.port": 1883, "listen": "x"}, None)
    assert len(refusal.value.problems) == 2


def test_a_mistake_on_the_command_line_reports_it() -> None:
    with pytest.raises(ConfigurationError, match=r"^the command line: \[api\] port = 99999"):
        load(None, {}, {"api.port": 99999}, None)
    with pytest.raises(ConfigurationError, match="--listen: 'nowhere' is not HOST:PORT"):
        load(None, {}, {"listen": "nowhere"}, None)


@given(
    st.text(max_size=200), st.sampled_from(["max_inflight", "retry_interval", "max_packet_size"])
)
def test_any_text_in_the_environment_is_taken_or_refused_in_lines(text: str, key: str) -> None:
    problems: tuple[str, ...] = ()
    try:
        load(None, {f"ONCEGATE_MQTT_{key}".upper(): text}, {}, None)
    except ConfigurationError as refusal:
        problems = refusal.problems
    assert all("\n" not in line and "\x1b" not in line for line in problems)
    assert all(len(line) < 400 for line in problems)
