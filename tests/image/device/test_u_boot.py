"""U-Boot's environment has a complete copy before an update begins."""

import pytest
from oncegate_device.installing import FailedError, RefusedError
from oncegate_device.updates import State

from tests.image.device.device import Device, environment


def test_the_way_back_is_not_overwritten_during_a_trial(device: Device) -> None:
    device.tries(2)
    with pytest.raises(RefusedError, match="still on trial, and slot B is the way back"):
        device.install()
    assert device.calls() == []


def test_u_boot_s_environment_is_copied_before_and_a_damaged_one_is_not(device: Device) -> None:
    boot = device.places.boot
    device.install()
    assert (boot / "uboot.bak").read_bytes() == (boot / "uboot.env").read_bytes()
    (boot / "uboot.env").write_bytes(b"\0" * 64)
    device.install()
    assert (boot / "uboot.env").read_bytes() == environment("BOOT_ORDER=A B")
    for name in ("uboot.env", "uboot.bak"):
        (boot / name).write_bytes(b"\0" * 64)
    with pytest.raises(FailedError, match="environment is damaged, and so is its copy"):
        device.install()
    assert device.state() is State.FAILED
