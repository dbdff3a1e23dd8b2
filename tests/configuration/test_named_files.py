"""Files named in a configuration, for example certificates and passwords."""

from pathlib import Path

from firmware_bridge.protocols.table import PROTOCOLS

from gateway.configuration import load
from gateway.configuration.named_files import files_named_in

CONFIGURATION = """
[gateway]
data_dir = "/not/a/file"
control_dir = "/not/either"

[[listeners]]
port = 1883

[[listeners]]
port = 8883
[listeners.tls]
certificate = "/f/served.pem"
key = "/f/served.key"
ca = "/f/ca.pem"
crl = "/f/crl.pem"
client_certificates = "optional"

[[listeners]]
protocol = "unix"
path = "/not/a/socket"

[access]
password_file = "/f/passwords"
rules_file = "/f/rules"
jwt = { issuer = "https://login.example", audience = "g", jwks_file = "/f/jwks.json" }
mysql = { socket = "/not/this", user = "u", database = "d", password_file = "/f/database" }

[bridge]
username = "bridge"
password_file = "/f/bridge"

[uplink]
address = "broker.example:8883"
password_file = "/f/uplink"
username = "up"
topics = [{ filter = "sensors/#" }]
tls = { ca = "/f/upstream.pem" }

[api]
administrators = ["anna"]
tokens_file = "/f/tokens"
tls = { certificate = "/f/page.pem", key = "/f/page.key" }

[[serial]]
name = "gps"
path = "/dev/not"
framing = "nmea"

[[tenants.acme.listeners]]
port = 1999
[tenants.acme.access]
password_file = "/f/acme"
"""


def test_every_file_and_no_folder_socket_or_device_is_named(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(CONFIGURATION)
    found = files_named_in(load(file, {}, {}, PROTOCOLS))
    assert all(path.parent == Path("/f") for path in found)
    assert {path.name for path in found} == {
        *("served.pem", "served.key", "ca.pem", "crl.pem", "passwords", "rules", "jwks.json"),
        *("database", "bridge", "uplink", "upstream.pem", "tokens", "page.pem", "page.key", "acme"),
    }
