"""Allowed contents of a gateway.toml on the card, and one line for each mistake in it."""

import json
import re

import pytest
from oncegate_device.wanted import WantedError, read

from tests.image.device.boot_partition import EXAMPLE, Card


def test_the_example_with_its_comments_taken_off_is_accepted() -> None:
    lines = EXAMPLE.read_text().splitlines()
    text = "\n".join(line.removeprefix("# ") for line in lines if "=" in line or "# [" in line)
    wanted = read(text.replace("AAAA...", "A" * 60), "gateway.toml")
    assert wanted.device.hostname == "cabinet-7"
    assert wanted.wifi is not None
    assert wanted.ethernet is not None
    assert wanted.ethernet.interface == "end0"
    assert [user.name for user in wanted.users] == ["cellar"]


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
        ('[wifi]\ncountry="XX"\nssid="a"\npassword="longenough"\n', '"DE", "GB" or "US"'),
        ('[wifi]\ncountry="GER"\nssid="a"\npassword="longenough"\n', '[wifi] country = "GER"'),
        ("[wifi]\ncountry=49\nssid='a'\npassword='longenough'\n", "[wifi] country = 49"),
        (
            '[[serial]]\nname = "gps"\npath = "/dev/ttyS1"\nframing = "nmea"\n',
            '[console] uart = "sensors" for the serial port gps',
        ),
        (
            '[console]\nuart = "console"\n[[serial]]\nname = "gps"\npath = "/dev/serial0"\n',
            '[console] uart = "sensors" for the serial port gps',
        ),
        (
            '[ethernet]\naddress = "192.0.2.10/24"\ninterface = "eth*"\n',
            '[ethernet] interface = "eth*"',
        ),
        ('[ethernet]\naddress = "192.0.2.10/24"\ninterface = ""\n', "use one adapter's name"),
        ('[ethernet]\naddress = "192.0.2.10/24"\nname = "eth0"\n', "[ethernet] name is not a key"),
        ('[ethernet]\ninterface = "eth0"\n', "[ethernet] address is missing"),
        ('[upload_environment]\nPATH = "/x"\n', "[upload_environment]"),
        ('[upload_environment]\nAWS_X = ""\n', "AWS_X has no value yet"),
        ('[gateway]\ndata_dir = "/tmp"\n', "[gateway] data_dir belongs to the image"),
        ('[api]\nbnd = "0.0.0.0"\n', 'did you mean "bind"?'),
        ("[mqtt]\nmax_inflight = -1\n", "[mqtt] max_inflight = -1"),
        ('[[serial]]\nname = "a"\n', "one of path, usb and address"),
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


def test_the_card_is_spared_unless_the_file_states_otherwise() -> None:
    spared = read("", "gateway.toml").gateway
    assert (spared["bridge"]["commit_delay"], spared["session_log"]["seal_after"]) == (
        "10s",
        "300s",
    )
    chosen = read('[bridge]\ncommit_delay = "0s"\n', "gateway.toml").gateway
    assert chosen["bridge"]["commit_delay"] == "0s"
    assert chosen["limits"] == spared["limits"]
    readme = (EXAMPLE.parents[1] / "README.md").read_text()
    reported = re.findall(r'^\| `\[(\w+)\] (\w+)` \| `"(\w+)"`', readme, re.MULTILINE)
    assert {(section, key): value for section, key, value in reported} == {
        (section, key): value
        for section in ("bridge", "limits", "session_log")
        for key, value in spared[section].items()
    }
