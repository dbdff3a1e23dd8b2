"""Updates that were requested on the page: checked without rights, installed, refused, undone."""

import json

import pytest
from oncegate_device import update_requests, updates
from oncegate_device.installing import go_back
from oncegate_device.start import Release
from oncegate_device.updates import State

from tests.image.device.device import NEW, OWN, Device

SOURCE = "https://example.org/a.raucb"


class Requested:
    """A card whose units are the functions that they start."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.started: list[tuple[str, ...]] = []
        device.places.requests.mkdir(parents=True)

    def ask(self, name: str, **given: object) -> int | None:
        """Write a request, check it, and carry it out if the check starts the unit."""
        places = self.device.places
        (places.requests / name).write_text(json.dumps(given))
        started = len(self.started)
        update_requests.check(places, lambda *arguments: self.started.append(arguments))
        assert not list(places.requests.iterdir())
        if len(self.started) == started:
            return None
        return update_requests.carry_out(places, writable=self.device._writable)


@pytest.fixture
def requested(device: Device) -> Requested:
    return Requested(device)


def update_of(device: Device) -> dict[str, object]:
    update = device.card["update"]
    assert isinstance(update, dict)
    return update


def test_a_requested_update_is_installed_with_its_progress_on_the_page(
    requested: Requested, device: Device
) -> None:
    assert requested.ask(update_requests.INSTALL, source=SOURCE) == 0
    assert requested.started == [("start", "--no-block", "device-update.service")]
    assert device.calls()[-1] == f"install {SOURCE}"
    assert (update_of(device)["state"], update_of(device)["percent"]) == ("installed", None)
    assert device.card["refusal"] == ""
    assert not device.places.checked_request.exists()
    assert not device.places.progress.exists()


@pytest.mark.parametrize(
    "source", ["--rollback-ends", "/etc/passwd", "http://example.org/a", "https://a/b\nc", 7, None]
)
def test_an_address_that_cannot_be_used_is_refused_again_on_the_card(
    requested: Requested, device: Device, source: object
) -> None:
    assert requested.ask(update_requests.INSTALL, source=source) is None
    assert (requested.started, device.calls()) == ([], [])
    assert "https://" in str(device.card["refusal"])


def test_what_the_card_refuses_and_what_rauc_refuses_is_on_the_page(
    requested: Requested, device: Device
) -> None:
    assert requested.ask(update_requests.BACK) == 1
    assert "No version is known to be in slot B" in str(device.card["refusal"])
    device.set_rauc_output("info", "", "signature verification failed\n", 1)
    assert requested.ask(update_requests.INSTALL, source=SOURCE) == 1
    assert device.card["refusal"] == ""
    assert update_of(device)["state"] == "failed"


def test_a_way_back_is_tried_like_an_update(requested: Requested, device: Device) -> None:
    device.install()
    device.restart("B", NEW)
    device.booted(is_trial=True)
    assert "returns to slot A by itself" in str(device.card["no_way_back"])
    device.step(updates.kept(*device.known()))
    assert device.card["no_way_back"] == ""
    assert requested.ask(update_requests.BACK) == 0
    assert device.calls()[-1] == "status mark-active rootfs.0"
    assert (update_of(device)["state"], update_of(device)["version"]) == ("installed", OWN.version)
    assert "under way" in str(device.card["no_way_back"])
    device.restart("A", OWN)
    device.booted(is_trial=True)
    assert device.state() is State.TRIAL


def test_a_version_that_cannot_read_the_data_is_no_way_back(device: Device) -> None:
    device.install()
    newer = Release(NEW.version, NEW.store_format + 1)
    device.restart("B", newer)
    device.booted(is_trial=False)
    assert "cannot read today's data" in str(device.card["no_way_back"])


def test_a_way_back_that_rauc_refuses_leaves_the_slots_as_they_are(device: Device) -> None:
    device.install()
    device.restart("B", NEW)
    device.booted(is_trial=False)
    device.set_rauc_output("status", "", "failed to mark slot\n", 1)
    with pytest.raises(Exception, match="failed to mark slot"):
        go_back(device.places, writable=device._writable)
    assert device.state() is State.FAILED
    assert device.known()[0].slots["A"] == OWN
