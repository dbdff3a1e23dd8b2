"""The owner of the header's UART, read in the same way by the boot script and at the start."""

from pathlib import Path

from oncegate_device.console import MARK, store
from oncegate_device.places import Places

OVERLAY = Path(__file__).resolve().parents[3] / "image/overlay/usr/lib"


def test_the_start_reads_the_file_that_is_stored_and_keeps_the_login_off(tmp_path: Path) -> None:
    places = Places(tmp_path / "boot", tmp_path / "device")
    places.boot.mkdir()
    places.device.mkdir()
    store("sensors", places)
    assert (places.boot / MARK).read_text().startswith("Made from [console] uart")
    provision = (OVERLAY / "oncegate-device/provision").read_text()
    assert '$(cat "$own/uart" 2>/dev/null)" = sensors' in provision
    login = (OVERLAY / "systemd/system/serial-getty@.service.d/oncegate.conf").read_text()
    (condition,) = [line for line in login.splitlines() if line.startswith("ConditionPathExists=!")]
    assert f": >{condition.partition('!')[2]}" in provision
    store("console", places)
    assert not (places.boot / MARK).exists()
