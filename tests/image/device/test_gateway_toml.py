"""Changes from the page in the text of gateway.toml: comments stay, and other keys too."""

import tomllib
from typing import Any

import pytest
from oncegate_device.gateway_toml import changed

NONE: dict[str, Any] = {"hostname": "oncegate", "wifi": None, "ethernet": None}
WIFI = {"ssid": 'a "b" # \\ c', "country": "DE", "hidden": True}
WIRED = {"address": "192.0.2.10/24", "gateway": None, "dns": ["192.0.2.1"], "interface": None}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# [device]\n",
        '[device]\nhostname = "x"  # mine\nssh_keys = []\n',
        "[device]\nssh_keys = []\n[mqtt]\nmax_inflight = 3\n",
        '[wifi]\nssid = "old"\npassword = ""\n# a note\n[mqtt]\nmax_inflight = 3',
        'wifi = {ssid = "old", password = ""}\ndevice = {ssh_keys = []}\n',
        '[wifi]\nssid = """\n[mqtt]\n"""\npassword = ""\n',
    ],
)
def test_the_text_has_the_settings_and_all_other_keys(text: str) -> None:
    after = tomllib.loads(changed(text, {"hostname": "b", "wifi": WIFI, "ethernet": WIRED}, NONE))
    before = tomllib.loads(text)
    assert after.pop("wifi") == {**WIFI, "password": ""}
    assert after.pop("ethernet") == {"address": "192.0.2.10/24", "dns": ["192.0.2.1"]}
    assert after["device"].pop("hostname") == "b"
    before.pop("wifi", None)
    before.get("device", {}).pop("hostname", None)
    assert {**after, "device": after["device"]} == {"device": {}, **before}


def test_only_what_was_changed_is_written_and_comments_stay() -> None:
    text = (
        '# Mine.\n[device]\n# The old shed.\nhostname = "a"\n\n[wifi]\nssid = "x"\npassword = ""\n'
    )
    after = changed(text, {**NONE, "hostname": "b"}, {**NONE, "hostname": "a"})
    assert after == text.replace('"a"', '"b"').replace(
        '[device]\n# The old shed.\nhostname = "b"', '[device]\nhostname = "b"\n# The old shed.'
    )
    assert changed(text, NONE, NONE) == text


def test_the_adapter_is_written_and_removed_with_its_address() -> None:
    text = '[ethernet]\naddress = "192.0.2.10/24"\ndns = ["192.0.2.1"]\n'
    every, one = ({**NONE, "ethernet": {**WIRED, "interface": name}} for name in (None, "eth0"))
    named = changed(text, one, every)
    assert tomllib.loads(named)["ethernet"] == {
        "address": "192.0.2.10/24", "dns": ["192.0.2.1"], "interface": "eth0",
    }  # fmt: skip
    assert tomllib.loads(changed(named, every, one)) == tomllib.loads(text)


def test_tables_that_are_taken_back_are_removed() -> None:
    text = '[wifi]\nssid = "x"\npassword = ""\n[ethernet]\naddress = "192.0.2.1/24"\n'
    assert changed(text, NONE, {**NONE, "wifi": WIFI, "ethernet": WIRED}) == ""
