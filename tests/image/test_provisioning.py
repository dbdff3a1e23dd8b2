"""gateway.toml of the boot partition: taken whole, reported, and without its secrets afterwards."""

import contextlib
import hashlib
import json
import os
import re
import stat
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from firmware_bridge.protocols.table import PROTOCOLS
from oncegate_device import wiping
from oncegate_device.places import Places, write
from oncegate_device.provisioning import REPORT, provision
from oncegate_device.settings import store
from oncegate_device.wanted import BRIDGE_USER, NETWORK, WantedError, read

from gateway.access.passwords import PasswordFile
from gateway.configuration import load

EXAMPLE = Path(__file__).resolve().parents[2] / "image" / "boot" / "gateway.toml"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEtYwyFQdPNGqVQB7qHYyAR5+6nFmAl9uJ1mS7pXK2ab me@laptop"
FULL = f"""\
# My cabinet.
[device]
hostname = "cabinet-7"
ssh_keys = ["{KEY}"]

[wifi]
country = "DE"
ssid = "Müller's"
password = "correct horse"  # the guest network's

[[users]]
name = "cellar"
password = "battery staple"

[[serial]]
name = "gps"
usb = "1546:01a7"
framing = "nmea"

[upload]
target = "s3://bucket/prefix"
[upload_environment]
AWS_SECRET_ACCESS_KEY = 'quote " and \\ slash'

[api]
bind = "0.0.0.0"
"""
SECRETS = ("correct horse", "battery staple", "slash")


class Card:
    """A boot partition and a data partition in a folder."""

    def __init__(self, folder: Path) -> None:
        self.places = Places(folder / "boot", folder / "device")
        self.places.boot.mkdir()
        self.places.device.mkdir()
        self.writable_times = 0
        self.owners: dict[str, str] = {}

    def put(self, text: str) -> None:
        self.places.file.write_text(text, encoding="utf-8")

    def provision(self) -> list[str]:
        return provision(self.places, writable=self._writable, own=self.own)

    @contextlib.contextmanager
    def _writable(self, place: Path) -> Iterator[None]:
        assert place == self.places.boot
        self.writable_times += 1
        yield

    def own(self, path: Path, user: str, group: str) -> None:
        self.owners[path.name] = f"{user}:{group}"

    @property
    def text(self) -> str:
        return self.places.file.read_text()

    @property
    def report(self) -> str:
        return (self.places.boot / REPORT).read_text()

    def stored(self, name: str) -> str:
        return (self.places.device / name).read_text()


@pytest.fixture
def card(tmp_path: Path) -> Card:
    return Card(tmp_path)


def test_the_example_that_the_card_brings_changes_nothing(card: Card) -> None:
    card.put(EXAMPLE.read_text())
    lines = card.provision()
    assert card.text == EXAMPLE.read_text()
    assert "SSH: closed, no key was given" in lines
    assert "MQTT: open to this machine only" in lines
    configuration = load(card.places.configuration / "gateway.toml", {}, {}, PROTOCOLS)
    assert configuration.api.bind == "127.0.0.1"
    assert [door.bind for door in configuration.listeners] == ["127.0.0.1"]


def test_what_is_told_of_it_names_no_network_and_no_user(card: Card) -> None:
    card.put(
        '[wifi]\nssid = "back room"\npassword = "battery staple"\ncountry = "DE"\n'
        '[[users]]\nname = "cellar"\npassword = "battery staple"\n'
    )
    told = "\n".join(card.provision()) + card.report
    assert "MQTT: open to 1 user(s)" in told
    assert not [word for word in ("back room", "cellar", "battery") if word in told]


def test_the_example_with_its_comments_taken_off_is_accepted() -> None:
    lines = EXAMPLE.read_text().splitlines()
    text = "\n".join(line.removeprefix("# ") for line in lines if "=" in line or "# [" in line)
    wanted = read(text.replace("AAAA...", "A" * 60), "gateway.toml")
    assert wanted.device.hostname == "cabinet-7"
    assert wanted.wifi is not None
    assert [user.name for user in wanted.users] == ["cellar"]


def test_everything_in_a_full_file_is_stored_where_the_card_s_programs_look(card: Card) -> None:
    card.put(FULL)
    lines = card.provision()
    configuration = load(card.places.configuration / "gateway.toml", {}, {}, PROTOCOLS)
    assert str(configuration.gateway.data_dir) == "/var/lib/oncegate"
    assert [(door.bind, door.anonymous) for door in configuration.listeners] == [(NETWORK, False)]
    assert configuration.bridge.username == BRIDGE_USER
    assert configuration.serial[0].name == "gps"
    assert configuration.api.port == 80
    passwords = PasswordFile.load(card.places.configuration / "passwords")
    assert passwords.verify("cellar", b"battery staple")
    bridge_password = card.stored("oncegate/bridge-password").strip().encode()
    assert passwords.verify(BRIDGE_USER, bridge_password)
    assert card.stored("hostname") == "cabinet-7\n"
    assert card.stored("ssh/authorized_keys") == f"{KEY}\n"
    assert card.stored("ssh/ssh_host_ed25519_key").startswith("-----BEGIN OPENSSH PRIVATE KEY")
    assert card.stored("oncegate/upload.env") == (
        'AWS_SECRET_ACCESS_KEY="quote \\" and \\\\ slash"\n'
    )
    assert card.owners["passwords"] == "root:oncegate-broker"
    assert "Page: http://cabinet-7.local/ for everyone on the network" in lines


def test_a_wireless_password_is_stored_as_the_key_of_that_network_alone(card: Card) -> None:
    # IEEE 802.11, annex J.4: the passphrase "password" with the SSID "IEEE".
    card.put('[wifi]\ncountry = "DE"\nssid = "IEEE"\npassword = "password"\n')
    card.provision()
    stored = card.stored("wpa_supplicant/wpa_supplicant-wlan0.conf")
    assert "psk=f42c6fc52df0ebef9ebb4b90b38a5f902e83fe1b135a70e23aed762e9710a12e" in stored
    assert "ssid=49454545" in stored
    assert '"password"' not in stored


def test_secrets_leave_the_boot_partition_and_the_rest_of_the_file_stays(card: Card) -> None:
    card.put(FULL.replace(KEY, KEY.replace("me@laptop", "x")).replace("ssh_keys", "# ssh_keys"))
    before = card.text
    lines = card.provision()
    assert not [secret for secret in SECRETS if secret in card.text]
    assert card.text.count('""') == 3
    assert "# My cabinet." in card.text
    assert "# the guest network's" in card.text
    assert "Passwords and keys were moved from gateway.toml to the data partition" in lines
    assert before != card.text
    assert sorted(each.name for each in card.places.boot.iterdir()) == [REPORT, "gateway.toml"]


def test_a_file_that_was_wiped_can_be_edited_and_taken_again(card: Card) -> None:
    card.put(FULL.replace("ssh_keys", "# ssh_keys"))
    card.provision()
    stored = [
        card.stored(name)
        for name in ("oncegate/upload.env", "wpa_supplicant/wpa_supplicant-wlan0.conf")
    ]
    card.put(card.text.replace("cabinet-7", "cabinet-8"))
    card.provision()
    assert card.stored("hostname") == "cabinet-8\n"
    assert stored == [
        card.stored(name)
        for name in ("oncegate/upload.env", "wpa_supplicant/wpa_supplicant-wlan0.conf")
    ]
    passwords = PasswordFile.load(card.places.configuration / "passwords")
    assert passwords.verify("cellar", b"battery staple")


def test_a_user_who_is_no_longer_in_the_file_is_let_in_no_more(card: Card) -> None:
    card.put(
        '[[users]]\nname = "a"\npassword = "12345678"\n'
        '[[users]]\nname = "b"\npassword = "12345678"\n'
    )
    card.provision()
    card.put('[[users]]\nname = "b"\npassword = ""\n')
    card.provision()
    passwords = PasswordFile.load(card.places.configuration / "passwords")
    assert not passwords.verify("a", b"12345678")
    assert passwords.verify("b", b"12345678")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[device]\nhostname = "Cabinet 7"\n', "[device] hostname"),
        ('[device]\nhostnam = "a"\n', 'did you mean "hostname"?'),
        ('[device]\nssh_keys = ["-----BEGIN OPENSSH PRIVATE KEY-----"]\n', "a public key"),
        ('[wifi]\ncountry = "DE"\npassword = "longenough"\n', "[wifi] ssid is missing"),
        ('[wifi]\ncountry="DE"\nssid = "a"\npassword = "short"\n', "[wifi] password is set"),
        ('[wifi]\ncountry="DE"\nssid = "a"\npassword = ""\n', "is not stored for this ssid"),
        ('[[users]]\nname = "a"\npassword = "short"\n', "[[users]] (number 1) password is set"),
        ('[[users]]\nname = "a"\npassword = ""\n', '"a" has no password yet'),
        ('[upload_environment]\nPATH = "/x"\n', "[upload_environment]"),
        ('[upload_environment]\nAWS_X = ""\n', "AWS_X has no value yet"),
        ('[gateway]\ndata_dir = "/tmp"\n', "[gateway] data_dir belongs to the image"),
        ('[api]\nbnd = "0.0.0.0"\n', 'did you mean "bind"?'),
        ("[mqtt]\nmax_inflight = -1\n", "[mqtt] max_inflight = -1"),
        ('[[serial]]\nname = "a"\n', "either path or usb"),
        ("gateway = 1\n", "[gateway]"),
        ('[device\nhostname = "a"\n', "is not TOML"),
        ("[device]\n" + "#" * 70_000, "is it the right one?"),
    ],
)
def test_a_mistake_is_reported_on_the_card_and_what_counted_before_still_counts(
    card: Card, text: str, problem: str
) -> None:
    card.put('[device]\nhostname = "before"\n')
    card.provision()
    kept = card.stored("oncegate/gateway.toml")
    card.put(text)
    with pytest.raises(WantedError) as raised:
        card.provision()
    assert any(problem in line for line in raised.value.problems), raised.value.problems
    assert all(line.startswith("gateway.toml: ") for line in raised.value.problems)
    assert problem in card.report
    assert json.loads(card.stored("provisioning.json"))["taken"] is False
    assert card.stored("hostname") == "before\n"
    assert card.stored("oncegate/gateway.toml") == kept
    assert card.text == text


def test_a_mistake_never_shows_the_secret_beside_it(card: Card) -> None:
    card.put('[wifi]\ncountry = "DE"\nssid = "a"\npassword = "geheim"\n')
    with pytest.raises(WantedError) as raised:
        card.provision()
    assert "geheim" not in str(raised.value)


def test_what_was_taken_is_noted_as_sha256sum_checks_it(card: Card) -> None:
    card.put(FULL.replace("ssh_keys", "# ssh_keys"))
    card.provision()
    digest = hashlib.sha256(card.places.file.read_bytes()).hexdigest()
    assert card.stored("gateway.toml.sha256") == f"{digest}  {card.places.file}\n"


class Cut(Exception):
    """The power is gone."""


@contextlib.contextmanager
def cut_after(steps_max: int) -> Iterator[None]:
    """End what is done in here before the next rename, removal or fsync once there were so many."""
    steps = 0

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def step(*arguments: object, **named: object) -> object:
            nonlocal steps
            steps += 1
            if steps > steps_max:
                raise Cut
            return real(*arguments, **named)

        return step

    with pytest.MonkeyPatch.context() as patched, contextlib.suppress(Cut):
        for owner, name in ((Path, "rename"), (Path, "unlink"), (os, "fsync")):
            patched.setattr(owner, name, counted(getattr(owner, name)))
        yield


@pytest.mark.parametrize("steps", range(1, 9))
def test_a_cut_while_secrets_are_wiped_leaves_the_file_or_what_the_next_start_completes(
    card: Card, steps: int
) -> None:
    card.put(FULL.replace("ssh_keys", "# ssh_keys"))
    store(read(card.text, "gateway.toml"), card.places, card.own)
    with cut_after(steps):
        wiping.replace(card.places.file, wiping.without_secrets(card.text).encode())
    card.provision()
    assert tomllib.loads(card.text)["device"]["hostname"] == "cabinet-7"
    assert not [secret for secret in SECRETS if secret in card.text]
    names = sorted(each.name for each in card.places.boot.iterdir())
    assert names == [REPORT, "gateway.toml"]


@pytest.mark.parametrize(
    "text",
    [
        'users = [{ name = "a", password = "12345678" }]\n',
        '[wifi]\ncountry = "DE"\nssid = "a"\npassword = """12345678"""\n',
        '[upload_environment]\n"AWS_X" = "se#cret"\n[device]\nhostname = "a"\n',
        '[ wifi ]\ncountry = "DE"\nssid = "a"\n password="1234\\"5678"# "x"\n',
    ],
)
def test_a_secret_is_blanked_however_it_is_written(text: str) -> None:
    blanked = wiping.without_secrets(text)
    assert "2345678" not in blanked
    assert "se#cret" not in blanked
    before, after = tomllib.loads(text), tomllib.loads(blanked)
    assert before.keys() == after.keys()
    assert before != after


def test_a_stored_file_has_its_mode_from_its_first_moment(tmp_path: Path) -> None:
    write(tmp_path / "secret", "x", 0o600)
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


def test_a_replaced_file_s_name_is_durable_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    rename, fsync = Path.rename, os.fsync

    def renamed(self: Path, target: Path) -> Path:
        steps.append("rename")
        return rename(self, target)

    def fsynced(descriptor: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    monkeypatch.setattr(Path, "rename", renamed)
    monkeypatch.setattr(os, "fsync", fsynced)
    write(tmp_path / "record", "x", 0o644)
    assert steps == ["file", "rename", "folder"]


def test_the_card_is_spared_unless_the_file_says_otherwise() -> None:
    spared = read("", "gateway.toml").gateway
    assert (spared["bridge"]["commit_delay"], spared["session_log"]["seal_after"]) == (
        "10s",
        "300s",
    )
    chosen = read('[bridge]\ncommit_delay = "0s"\n', "gateway.toml").gateway
    assert chosen["bridge"]["commit_delay"] == "0s"
    assert chosen["limits"] == spared["limits"]
    readme = (EXAMPLE.parents[1] / "README.md").read_text()
    told = re.findall(r'^\| `\[(\w+)\] (\w+)` \| `"(\w+)"`', readme, re.MULTILINE)
    assert {(section, key): value for section, key, value in told} == {
        (section, key): value
        for section in ("bridge", "limits", "session_log")
        for key, value in spared[section].items()
    }
