"""Secrets leave the boot partition, and the next start completes what a power cut interrupted."""

import tomllib

import pytest
from oncegate_device import wiping
from oncegate_device.report import REPORT
from oncegate_device.settings import store
from oncegate_device.wanted import read

from tests.image.device.boot_partition import FULL, KEY, SECRETS, Card, cut_after


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
