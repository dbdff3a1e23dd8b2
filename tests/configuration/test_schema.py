"""The JSON Schema of gateway.toml agrees with the loader, as far as a schema can."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from firmware_bridge.protocols.table import PROTOCOLS
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gateway.configuration import Configuration, ConfigurationError, load
from gateway.configuration.description import tables
from gateway.configuration.schema import schema
from gateway.process.declarations.section import keys_of
from tests.configuration.refused import MODBUS, PORT, REFUSED, SENSOR, TLS

ROOT = Path(__file__).resolve().parents[2]
VALIDATOR = Draft202012Validator(schema(PROTOCOLS))
PAGES = ("README.md", "docs/configuration.md", "image/container/README.md")
EXAMPLES = [*sorted((ROOT / "image").rglob("gateway.toml")), *(ROOT / page for page in PAGES)]

# Rules that a schema cannot express: ranges of values with units, integers written with a decimal
# point, and conditions across keys or tables. `oncegate check-config` checks them.
LEFT_TO_THE_LOADER = {
    "[console]\nuart = 'console'\n[[serial]]\nname = 'gps'\npath = '/dev/ttyAMA0'",
    "[[serial]]\nname = 'a'\npath = 'x'\nframing = 'board'\nflow_control = 'xon_xoff'",
    "[[serial]]\nname = 'a'\npath = 'x'\nframing = 'sml'\nflow_control = 'xon_xoff'",
    "[[serial]]\nname = 'a'\npath = 'x'\nframing = 'vedirect'\nflow_control = 'xon_xoff'",
    f"{PORT}'dsmr'\nflow_control = 'xon_xoff'\nkey_file = 'key'",
    f"{PORT}'sml'\nline = '9600 7E1'",
    f"{PORT}'vedirect'\nline = '19200 7E1'",
    f"{PORT}'dsmr'\nline = '9600 7E1'\nkey_file = 'key'",
    "[[serial]]\nname = 'a'\npath = 'x'\nframing = 'frames'\nflow_control = 'xon_xoff'\n\
start = '42'\nframe_bytes = 4\nchecksum = 'none'\n[[serial.fields]]\nname = 'q'\nat = 1",
    "[[serial]]\nname = 'a'\npath = 'x'\nframing = 'json'\nrs485_rts = 'low'",
    "[[serial]]\nname = 'a'\npath = 'x'\nframing = 'json'\nrs485 = true\nflow_control = 'rts_cts'",
    "[[serial]]\nname = 'a'\naddress = 'rfc2217://a:1'\nrs485 = true",
    "[[serial]]\nname = 'a'\naddress = 'tcp://a:1'\nbaud_rate = 9600",
    "[[serial]]\nname = 'a'\naddress = 'tcp://a:65536'",
    "[[serial]]\nname = 'a'\naddress = 'modbus+tcp://a:502'\nframing = 'json'",
    f"{MODBUS}address = 'tcp://a:502'",
    "[[serial]]\nname = 'a'\npath = 'x'\nframing = 'modbus'\n\
devices=[{name='a', address=0, registers=[{name='a', at=0}]}]",
    f"{MODBUS}address = 'modbus+tcp://a:502'\nline = '9600 8N1'",
    f"{MODBUS}address = 'rtu+tcp://a:502'\nbaud_rate = 9600",
    "[mqtt]\nmax_inflight = 1.0",
    "[mqtt]\nretry_interval = '0s'",
    "[mqtt]\nmax_packet_size = '1GiB'",
    "[mqtt]\nmax_packet_size = '128.5B'",
    "[[listeners]]\nprotocol = 'unix'\npath = 'x'\nport = 1",
    "[[listeners]]\norigins = ['*']",
    "[[listeners]]\nproxy_protocol_certificates = true",
    "[[listeners]]\n" + TLS + "ca = 'a'}",
    "[[listeners]]\n" + TLS + "crl = 'a'}",
    "[[listeners]]\n" + TLS + "client_certificates = 'required'}",
    SENSOR + "[[listeners]]\n" + TLS[:-2] + "}",
    SENSOR + "[[listeners]]\nproxy_protocol = true\nallow_anonymous_network = true",
    "[[listeners]]\nproxy_protocol = true",
    "[[listeners]]\nprotocol = 'unix'\npath = '/run/x'\nproxy_protocol = true",
    SENSOR + "[[listeners]]\nprotocol = 'websocket'",
    "[[listeners]]\n" + 2 * "[[listeners]]\nprotocol = 'unix'\npath = '/run/x'\n",
    "[[listeners]]\nbind = '0.0.0.0'",
    "[[listeners]]\nbind = '::'",
    "[[listeners]]\nanonymous = false",
    "[[listeners]]\n[[listeners]]",
    "[[serial]]\nname = 'a'\npath = 'x'\nline = '49 8N1'",
    "[bridge]\nbroker = 'h:0'",
    "[mqtt]\nmax_awaiting_rel = 7\n[bridge]\nwindow = 8",
    "[bridge]\nwindow = 101",
    "[mqtt]\nmaximum_qos = 1\n[[serial]]\nname = 'a'\npath = 'x'",
    "[mqtt]\nprotocol_versions = [5]\n[[serial]]\nname = 'a'\npath = 'x'",
    f"{PORT}'csv'\ncolumns = ['a', 'a']",
    f"{PORT}'pattern'\npattern = '('",
    f"{PORT}'json'\n[serial.readings]\ntopic = 'a/{{device}}'",
    f"{PORT}'json'\ndevice = 'board-1'",
    f"{PORT}'json'\n[[serial.readings.quantities]]\nname = 'a/b'",
    f"{PORT}'nmea'\n[[serial.readings.quantities]]\nname = 'gga'\nscale = 2",
    f"{PORT}'board'\nline = '9600 7E1'",
    "[[serial]]\nname = 'a'\npath = 'x'\ndevice = 'd'",
    "[[serial]]\nname = 'a'\npath = 'x'\n[[serial]]\nname = 'a'\npath = 'y'",
}


def accepts(content: str) -> bool:
    return bool(VALIDATOR.is_valid(tomllib.loads(content)))


def examples_of(file: Path) -> list[str]:
    """Return the configurations in a page.

    For another file return its text, first as it is and then without the comment signs before keys.
    """
    text = file.read_text()
    if file.suffix == ".md":
        return re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    return [text, "\n".join(uncommented(line) for line in text.splitlines())]


def uncommented(line: str) -> str:
    """Remove the comment sign before a key or a table. Prose remains a comment."""
    without = re.sub(r"^# ?(?=\[|\w+ = )", "", line)
    try:
        tomllib.loads(without)
    except tomllib.TOMLDecodeError:
        return line
    return without


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(schema(PROTOCOLS))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: str(file.relative_to(ROOT)))
def test_it_accepts_every_example(file: Path) -> None:
    found = examples_of(file)
    assert found
    for text in found:
        table = tomllib.loads(text)
        ours = {name: table[name] for name in table if name in keys_of(Configuration)}
        assert [error.message for error in VALIDATOR.iter_errors(ours)] == []


@pytest.mark.parametrize("content", [row[0] for row in REFUSED])
def test_it_refuses_what_the_loader_refuses_but_for_what_it_cannot_see(content: str) -> None:
    assert accepts(content) is (content in LEFT_TO_THE_LOADER)


def test_it_accepts_every_default_as_a_person_writes_it() -> None:
    defaults = tables(load(None, {}, {}, None))
    written = {
        section: {key: value for key, value in keys.items() if value is not None}
        for section, keys in defaults.items()
        if isinstance(keys, dict)
    }
    VALIDATOR.validate(written)
    properties = schema(PROTOCOLS)["properties"]
    for section, keys in written.items():
        named = properties[section]["properties"]
        assert {key: named[key].get("default") for key in keys} == keys
    assert properties["session_log"]["properties"]["seal_after"]["default"] == "60s"
    assert properties["mqtt"]["properties"]["max_session_expiry"]["default"] == "never"


TEXTS = {
    ("mqtt", "retry_interval"): st.from_regex(r"\A[0-9]{1,4}(\.[0-9])? ?(ms|s|m|h|d)\Z"),
    ("mqtt", "max_packet_size"): st.from_regex(r"\A[0-9]{1,4}(\.5)? ?([KMG]iB|kB|MB|B)\Z"),
    ("api", "bind"): st.ip_addresses().map(str) | st.just("localhost"),
    ("bridge", "broker"): st.from_regex(r"\A(\[[0-9a-f:]{2,9}\]|[a-z0-9.-]{1,9}):[0-9]{1,5}\Z"),
    ("session_log", "payload_topics"): st.text("ab/+#", min_size=1).map(lambda text: [text]),
    ("upload", "target"): st.from_regex(r"\A(file|s3|GS|az|https?):/{0,3}[a-z]{0,3}/?[a-z]?\Z"),
    ("gateway", "control_dir"): st.text(min_size=1, max_size=120),
    ("hooks", "module"): st.from_regex(r"\A[a-z]{1,3}(\.[a-z_]{1,3}){0,3}\Z"),
    ("bridge", "username"): st.text(max_size=20),
}  # fmt: skip


@example((("upload", "target"), "file:/"))
@given(st.sampled_from(sorted(TEXTS)).flatmap(
    lambda place: st.tuples(st.just(place), TEXTS[place])
))  # fmt: skip
def test_it_accepts_what_the_loader_accepts(drawn: tuple[tuple[str, str], Any]) -> None:
    (section, key), value = drawn
    try:
        load(None, {}, {f"{section}.{key}": value}, None)
    except ConfigurationError:
        return
    assert VALIDATOR.is_valid({section: {key: value}}), value
