"""Facts about a start of the card: the running slot, its version, and the clock."""

import pytest
from oncegate_device import updates
from oncegate_device.start import NotACardError, Release, release_in, start_of

from tests.image.device.device import Device


def test_the_record_states_when_and_how_good_the_clock_was(device: Device) -> None:
    device.install()
    last = updates.load(device.places).last
    assert last
    assert last.clock == "unsynchronised"
    flag = device.root("run/systemd/timesync/synchronized")
    flag.parent.mkdir(parents=True)
    flag.touch()
    device.install()
    last = updates.load(device.places).last
    assert last
    assert last.clock == "synchronised"
    assert last.time_ms > 1_700_000_000_000


@pytest.mark.parametrize(
    "text", ["", "VERSION=1.0", "VERSION=\x1b[1m\nSTORE_FORMAT=5", "VERSION=1\nSTORE_FORMAT=-5"]
)
def test_a_slot_that_does_not_say_its_version_has_none(text: str) -> None:
    assert release_in(text) is None
    assert release_in("VERSION=1.0~rc1-2\nSTORE_FORMAT=5\n") == Release("1.0~rc1-2", 5)


@pytest.mark.parametrize("words", ["root=/dev/sda1", "rauc.slot=C", "rauc.slot="])
def test_a_machine_without_a_slot_is_no_card(device: Device, words: str) -> None:
    device.root("proc/cmdline").write_text(words)
    with pytest.raises(NotACardError):
        start_of(device.places)
