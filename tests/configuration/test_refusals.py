"""Every mistake is one line that names the source, the key, the value and what is allowed."""

from pathlib import Path

import pytest
from firmware_bridge.protocols.table import PROTOCOLS
from hypothesis import given
from hypothesis import strategies as st

from gateway.configuration import ConfigurationError, load

PORT = "[[serial]]\nname = 'a'\npath = 'x'\nframing = "

REFUSED = [
    ("[mqtt]\nmax_inflight = -1", "[mqtt] max_inflight = -1 ", "a whole number from 0 to 65535"),
    ("[mqtt]\nmax_inflight = true", "[mqtt] max_inflight = true ", "a whole number"),
    ("[mqtt]\nmax_inflight = 1.0", "[mqtt] max_inflight = 1.0 ", "a whole number"),
    ("[mqtt]\nmax_inflight = '5'", '[mqtt] max_inflight = "5" ', "a whole number"),
    ("[mqtt]\nretry_interval = 30", "[mqtt] retry_interval = 30 ", 'like "30s"'),
    ("[mqtt]\nretry_interval = '30'", '[mqtt] retry_interval = "30" ', "with its unit"),
    ("[mqtt]\nretry_interval = '0s'", '[mqtt] retry_interval = "0s" ', 'or "never"'),
    ("[mqtt]\nconnect_timeout = 'never'", '= "never" ', 'from "100ms" to "3600s"'),
    ("[mqtt]\nmax_packet_size = 2097152", "max_packet_size = 2097152 ", 'like "64MiB"'),
    ("[mqtt]\nmax_packet_size = '1GiB'", '= "1GiB" ', 'from "128B" to "256MiB"'),
    ("[mqtt]\nmax_packet_size = '128.5B'", '= "128.5B" ', "a size with its unit"),
    ("[mqtt]\nmqueue_store_qos0 = 1", "[mqtt] mqueue_store_qos0 = 1 ", "true or false"),
    ("[mqtt]\nmax_inflihgt = 3", "[mqtt] max_inflihgt is not a key", '"max_inflight"?'),
    ("[mqtt]\nzzz = 3", "[mqtt] zzz is not a key", "known are allow_control_characters"),
    ("[mqt]\nx = 3", "[mqt] is not a section", 'did you mean "mqtt"?'),
    ("mqtt = 3", "[mqtt] = 3 ", "a table of keys and values"),
    ("[gateway]\nid = 'Ä'", "[gateway] id", "1 to 64 of a-z, 0-9 and -"),
    ("[gateway]\ndata_dir = 3", "[gateway] data_dir = 3 ", "a path"),
    ("listeners = []", "[[listeners]] = [] ", "at least one"),
    ("[[listeners]]\nport = 65536", "[[listeners]] (1st) port = 65536 ", "from 0 to 65535"),
    ("[[listeners]]\n[[listeners]]\nprot = 1", "[[listeners]] (2nd) prot is", '"port"?'),
    ("[[listeners]]\nbind = 'a.example'", '(1st) bind = "a.example" ', "an IP address"),
    ("[[listeners]]\nprotocol = 'http'", "(1st) protocol", '"mqtt", "websocket" or "unix"'),
    ("[[listeners]]\nprotocol = 'unix'", "[[listeners]] (1st): use path", "where the socket is"),
    (
        "[[listeners]]\nprotocol = 'unix'\npath = 'x'\nport = 1",
        "[[listeners]] (1st): use path alone",
        "no bind and no port",
    ),
    (
        f"[[listeners]]\nprotocol = 'unix'\npath = '/{'x' * 107}'",
        "[[listeners]] (1st) path",
        "a path of at most 107 bytes",
    ),
    (
        "[[listeners]]\nprotocol = 'websocket'\norigins = ['a.example']",
        '(1st) origins.0 = "a.example" ',
        'an origin like "https://page.example:8443"',
    ),
    (
        "[[listeners]]\nprotocol = 'websocket'\norigins = ['https://a.example/page']",
        "(1st) origins.0",
        'or "*" for all',
    ),
    ("[[listeners]]\norigins = ['*']", "use no origins", 'protocol = "websocket"'),
    ("[[listeners]]\nproxy_protocol = 2", "(1st) proxy_protocol = 2 ", "true or false"),
    (
        "[[listeners]]\nproxy_protocol = true\nallow_anonymous_network = true",
        "use a listener with",
        "[bridge] broker",
    ),
    (
        "[[listeners]]\nproxy_protocol = true",
        "a proxy brings from the network",
        "anonymous = false",
    ),
    (
        "[[listeners]]\nprotocol = 'unix'\npath = '/run/x'\nproxy_protocol = true",
        "a proxy brings from the network",
        "anonymous = false",
    ),
    ("[[listeners]]\nprotocol = 'websocket'", "use a listener with", 'protocol = "mqtt"'),
    (
        "[[listeners]]\n" + 2 * "[[listeners]]\nprotocol = 'unix'\npath = '/run/x'\n",
        "use one listener at /run/x",
        "not several",
    ),
    ("[[listeners]]\ntls = {}", "[[listeners]] (1st): use", "TLS is not available in this version"),
    ("[[listeners]]\npath = '/run/x'", "[[listeners]] (1st): use no path", 'protocol = "unix"'),
    ("[[listeners]]\nbind = '0.0.0.0'", "can be reached from the network", "allow_anonymous_netw"),
    ("[[listeners]]\nbind = '::'", "can be reached from the network", "anonymous = false"),
    ("[[listeners]]\nanonymous = false", "use [access] password_file", "anonymous = false"),
    ("[[listeners]]\n[[listeners]]", "use one listener at 127.0.0.1 port 1883", "not several"),
    ("[session_log]\npayload_topics = 'a'", "payload_topics", 'like ["a", "b"]'),
    ("[session_log]\npayload_topics = ['a#']", "payload_topics", "a topic filter of MQTT"),
    ("[session_log]\npayload_topics = ['#/a']", "payload_topics", "a topic filter of MQTT"),
    ("[session_log]\npayload_topics = ['']", "payload_topics", "a topic filter of MQTT"),
    ("[upload]\ntarget = 'ftp://x/y'", "[upload] target is set", "a URL such as"),
    ("[upload]\ntarget = 'file://x/y'", "[upload] target is set", "three slashes"),
    ("[bridge]\nbroker = 'localhost'", '[bridge] broker = "localhost" ', "HOST:PORT"),
    ("[bridge]\nbroker = 'h:0'", '[bridge] broker = "h:0" ', "from 1 to 65535"),
    (
        "[mqtt]\nmax_awaiting_rel = 7\n[bridge]\nwindow = 8",
        "use a [bridge] window of",
        "of at most",
    ),
    ("[bridge]\nwindow = 101", "a [bridge] window of at most", "max_awaiting_rel"),
    ("[[serial]]\npath = '/dev/x'", "[[serial]] (1st) name is missing", "needs it"),
    (
        "[mqtt]\nmaximum_qos = 1\n[[serial]]\nname = 'a'\npath = 'x'",
        "use [mqtt] maximum_qos = 2",
        "[bridge] broker",
    ),
    (
        "[mqtt]\nprotocol_versions = [5]\n[[serial]]\nname = 'a'\npath = 'x'",
        "use 4 in [mqtt] protocol_versions",
        "[bridge] broker",
    ),
    ("[mqtt]\nprotocol_versions = []", "protocol_versions", ""),
    ("[[serial]]\nname = 'a'", "[[serial]] (1st): use either path or usb", "not both"),
    ("[[serial]]\nname = 'a'\npath = 'x'\nusb = '1:2'", "use either path or usb", "not both"),
    ("[[serial]]\nname = 'a b'\npath = 'x'", '(1st) name = "a b" ', "1 to 64 letters"),
    (
        "[[serial]]\nname = 'a'\npath = 'x'\nbaud_rate = 9600\nline = '9600 8N1'",
        "use either baud_rate or line",
        "not both",
    ),
    ("[[serial]]\nname = 'a'\npath = 'x'\nline = '8N1'", '(1st) line = "8N1" ', '"9600 7E1"'),
    ("[[serial]]\nname = 'a'\npath = 'x'\nline = '9600 8n1'", "(1st) line", "parity N, E or O"),
    ("[[serial]]\nname = 'a'\npath = 'x'\nline = '9600  8N1'", "(1st) line", "a space"),
    ("[[serial]]\nname = 'a'\npath = 'x'\nline = '9600 5N1'", "(1st) line", "7 or 8 data bits"),
    ("[[serial]]\nname = 'a'\npath = 'x'\nline = '9600 8N3'", "(1st) line", "1 or 2 stop bits"),
    ("[[serial]]\nname = 'a'\npath = 'x'\nline = '49 8N1'", "(1st) line", "from 50 to 4000000"),
    ("[[serial]]\nname = 'a'\npath = 'x'\nline = 9600", "(1st) line = 9600 ", "a rate from 50"),
    ("[[serial]]\nname = 'a'\nusb = 'x'", '(1st) usb = "x" ', "VID:PID"),
    ("[[serial]]\nname = 'a'\npath = 'x'\nframing = 'csv'", "use columns", 'framing = "csv"'),
    (
        "[[serial]]\nname = 'a'\npath = 'x'\nframing = 'xml'",
        '(1st) framing = "xml" ',
        '"board", "nmea"',
    ),
    (f"{PORT}'csv'\ncolumns = []", "(1st) columns = [] ", "at least one"),
    (f"{PORT}'csv'\ncolumns = ['a', 'b/c']", '(1st) columns.1 = "b/c" ', "'_' alone to leave"),
    (f"{PORT}'csv'\ncolumns = ['a', 'a']", "[[serial]] (1st): use", '"a" once in columns'),
    (f"{PORT}'json'\ncolumns = ['a']", "(1st): use columns", 'framing = "csv" only'),
    (f"{PORT}'csv'\ncolumns = ['a']\ncolums = 1", "(1st) colums is not a key", '"columns"?'),
    (f"{PORT}'json'\nprotocol = {{}}", "(1st) protocol is not a key", "known are baud_rate, "),
    (f"{PORT}'json'\ndevice = 'board-1'", "use another device", 'framing = "board"'),
    (f"{PORT}'board'\nline = '9600 7E1'", "use a line of 8 data bits", 'framing = "board"'),
    ("[[serial]]\nname = 'a'\npath = 'x'\ndevice = 'd'", "use no device", "name themselves"),
    (
        "[[serial]]\nname = 'a'\npath = 'x'\n[[serial]]\nname = 'a'\npath = 'y'",
        'use one [[serial]] with name = "a"',
        "not several",
    ),
    ("[api]\nbind = 3", "[api] bind = 3 ", "an IP address of this machine"),
]


@pytest.mark.parametrize(("content", "what", "allowed"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_mistake_in_the_file_is_one_line(
    tmp_path: Path, content: str, what: str, allowed: str
) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(content)
    with pytest.raises(ConfigurationError) as refusal:
        load(file, {}, {}, PROTOCOLS)
    (line,) = refusal.value.problems
    assert line.startswith(f"{file}: ")
    assert what in line
    assert allowed in line
    assert "\n" not in line


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text("[mqtt]\nmax_inflight = -1\nx = 1\n[api]\nport = 'y'\n")
    with pytest.raises(ConfigurationError) as refusal:
        load(file, {}, {}, PROTOCOLS)
    assert len(refusal.value.problems) == 3


def test_a_mistake_in_the_environment_names_the_variable() -> None:
    with pytest.raises(ConfigurationError) as refusal:
        load(None, {"ONCEGATE_MQTT_MAX_INFLIGHT": "many"}, {})
    (line,) = refusal.value.problems
    assert line.startswith(
        'ONCEGATE_MQTT_MAX_INFLIGHT: [mqtt] max_inflight = "many" is not allowed'
    )


def test_a_variable_that_sets_nothing_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match='did you mean "ONCEGATE_MQTT_MAX_INFLIGHT"'):
        load(None, {"ONCEGATE_MQTT_MAX_INFLIHGT": "1"}, {})


def test_variables_that_are_not_ours_are_left_alone() -> None:
    load(None, {"ONCEGATE_SEED": "1", "ONCEGATE": "x", "PATH": "/bin"}, {})


def test_a_mistake_on_the_command_line_says_so() -> None:
    with pytest.raises(ConfigurationError, match=r"^the command line: \[api\] port = 99999"):
        load(None, {}, {"api.port": 99999})
    with pytest.raises(ConfigurationError, match="--listen: 'nowhere' is not HOST:PORT"):
        load(None, {}, {"listen": "nowhere"})


def test_what_may_be_a_secret_is_not_repeated() -> None:
    with pytest.raises(ConfigurationError) as refusal:
        load(None, {"ONCEGATE_UPLOAD_TARGET": "ftp://user:hunter2@host/"}, {})
    assert "hunter2" not in str(refusal.value)


@given(
    st.text(max_size=200), st.sampled_from(["max_inflight", "retry_interval", "max_packet_size"])
)
def test_any_text_in_the_environment_is_taken_or_refused_in_lines(text: str, key: str) -> None:
    problems: tuple[str, ...] = ()
    try:
        load(None, {f"ONCEGATE_MQTT_{key}".upper(): text}, {})
    except ConfigurationError as refusal:
        problems = refusal.problems
    assert all("\n" not in line and "\x1b" not in line for line in problems)
    assert all(len(line) < 400 for line in problems)
