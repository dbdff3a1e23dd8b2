"""The subcommand `update` installs a signed bundle in the slot that is not running.

The program rauc verifies and writes the bundle. In addition, this module keeps the record of
updates, backs up U-Boot's environment, and checks the format of the data. The running slot is not
changed.
"""

import configparser
import contextlib
import fcntl
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from oncegate_device import card, rauc, u_boot, updates
from oncegate_device.places import Places, Writable, remounted, write
from oncegate_device.start import (
    Release,
    Start,
    moment_of,
    start_of,
)
from oncegate_device.updates import Record, State, Update, line_of

EXPECTED = "expected a bundle's file (oncegate-VERSION-arm64.raucb) or its https:// address"


class RefusedError(Exception):
    """Raised if the update was not started. The message explains why, and what was expected."""


class FailedError(Exception):
    """Raised if the update has failed. The message gives the reason, which is also recorded."""


def install(
    source: str, places: Places, *, rollback_ends: bool, writable: Writable = remounted
) -> str:
    """Install the bundle at a path or URL, and return sentences about the next step.

    A version whose data the running version cannot read is accepted only if the argument
    `rollback_ends` is True. The argument `writable` is a context manager that makes the boot
    partition writable.

    Raises:
        RefusedError: if the update was not started.
        FailedError: if rauc rejected the bundle or failed.
    """
    bundle = _address_of(source)
    start = start_of(places)
    with _update_lock(places):
        _refuse_on_trial(start)
        try:
            return _Installation(start, places).run(bundle, rollback_ends, writable)
        finally:
            places.progress.unlink(missing_ok=True)
            card.publish(places, start)


def go_back(places: Places, *, writable: Writable = remounted) -> str:
    """Select the version in the other slot for the next start.

    Return sentences about the next step. After the start, the selected version is on trial, as
    after an update. It is kept if the gateway is healthy. Otherwise, the card returns to the
    version that is running now.

    Raises:
        RefusedError: if another update is under way, or if the other slot has no version that can
            read the data.
        FailedError: if rauc failed.
    """
    start = start_of(places)
    with _update_lock(places):
        _refuse_on_trial(start)
        installation = _Installation(start, places)
        try:
            return installation.back(writable)
        finally:
            card.publish(places, start)


class _Installation:
    """One installation of an update, or one return to the version in the other slot.

    The attribute `record` always equals the record of updates on disk.
    """

    def __init__(self, start: Start, places: Places) -> None:
        self.start = start
        self.places = places
        self.record = updates.load(places)
        self.update = Update(
            state=State.INSTALLING, slot=start.other, version=None, time_ms=0, clock="", boot_id=""
        )

    def run(self, source: str, rollback_ends: bool, writable: Writable) -> str:
        offered = self._offered(source)
        ends = _ends_rollback(offered, self.start, is_accepted=rollback_ends)
        self.update = replace(self.update, version=offered.version, ends_rollback=ends)
        self._save(updates.begun(self.record, moment_of(self.places), self.update))
        card.publish(self.places, self.start)
        print(f"Version {offered.version} into slot {self.start.other}", flush=True)
        try:
            with writable(self.places.boot):
                u_boot.secure(self.places.boot)
                status, output = rauc.install(source, self._show_progress)
        except (OSError, subprocess.CalledProcessError) as error:
            raise self._failed(str(error)) from error
        if status:
            raise self._failed(rauc.reason_in(output))
        format_ = offered.store_format
        release = Release(offered.version, format_) if format_ is not None else None
        self._save(updates.installed(self.record, moment_of(self.places), release))
        return "\n".join(card.sentences_of(self.record, self.start))

    def back(self, writable: Writable) -> str:
        """Select the other slot for the next start. Return text that describes the next step."""
        release = self.record.slots[self.start.other]
        reason = card.no_way_back(self.record, self.start)
        if reason or release is None:
            raise RefusedError(reason)
        self.update = replace(self.update, version=release.version)
        begun = updates.begun(self.record, moment_of(self.places), self.update)
        try:
            with writable(self.places.boot):
                u_boot.secure(self.places.boot)
                done = rauc.mark_active(self.start.other)
        except (OSError, subprocess.SubprocessError) as error:
            raise self._failed(str(error)) from error
        if done.returncode:
            raise self._failed(rauc.reason_in(done.stderr + done.stdout))
        self._save(updates.installed(begun, moment_of(self.places), release))
        return "\n".join(card.sentences_of(self.record, self.start))

    def _show_progress(self, percent: int) -> None:
        """Publish the progress of the installation, in percent, for the web page."""
        write(self.places.progress, f"{percent}\n", 0o644)
        card.publish(self.places, self.start)

    def _offered(self, source: str) -> rauc.Bundle:
        """Return the manifest of a bundle, after rauc has verified the bundle's signature.

        Raises FailedError if the bundle cannot be read or is not for this device.
        """
        rauc.prepare_for(source)
        try:
            done = rauc.info(source)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise self._failed(str(error)) from error
        if done.returncode:
            raise self._failed(rauc.reason_in(done.stderr + done.stdout))
        try:
            offered = rauc.bundle_in(done.stdout)
        except (ValueError, TypeError, KeyError, RecursionError):
            raise self._failed("its manifest is not one of this gateway's") from None
        wanted = _compatible_of(self.places)
        if offered.compatible != wanted:
            raise self._failed(
                f'it is made for "{line_of(offered.compatible)}", not for "{wanted}"'
            )
        return offered

    def _failed(self, detail: str) -> FailedError:
        self._save(updates.failed(self.record, moment_of(self.places), self.update, detail))
        return FailedError(line_of(detail))

    def _save(self, record: Record) -> None:
        self.record = record
        updates.save(record, self.places)


def _address_of(source: str) -> str:
    """Return the bundle's absolute path or URL.

    A relative path would not work, because rauc's service has another working directory.

    Raises RefusedError if `source` is neither an existing file nor an https:// address.
    """
    # Programs that run at every boot import this module, and must be fast.
    from gateway.process import bundle_address  # noqa: PLC0415

    if len(source) > bundle_address.ADDRESS_CHARACTERS_MAX or not source.isprintable():
        raise RefusedError(f"that is neither a file's name nor an address: {EXPECTED}")
    if "://" not in source:
        file = Path(source).resolve()
        if not file.is_file():
            raise RefusedError(f"{source}: there is no such file: {EXPECTED}")
        return str(file)
    if not bundle_address.is_bundle_address(source):
        raise RefusedError(f"{source}: {EXPECTED}")
    return source


@contextlib.contextmanager
def _update_lock(places: Places) -> Iterator[None]:
    """Hold the lock for updates while the `with` block runs.

    While the lock is held, the signals for Ctrl-C and for a closed terminal are ignored. Raises
    RefusedError if another update is running.
    """
    places.run.mkdir(exist_ok=True)
    with (places.run / "update.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RefusedError("another update is being installed: wait for its end") from None
        before = {
            each: signal.signal(each, signal.SIG_IGN) for each in (signal.SIGINT, signal.SIGHUP)
        }
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


def _refuse_on_trial(start: Start) -> None:
    """Raise RefusedError if the running slot is on trial.

    An update would overwrite the other slot, which is needed if the trial fails.
    """
    if u_boot.is_on_trial(start.slot):
        raise RefusedError(
            f"slot {start.slot} is still on trial, and slot {start.other} is the way back: wait "
            "until `oncegate-device status` reports that it is kept"
        )


def _ends_rollback(offered: rauc.Bundle, start: Start, *, is_accepted: bool) -> bool:
    """Return True if the running version may be unable to read the data after this update.

    The argument `is_accepted` is True if the user has accepted this consequence.

    Raises:
        RefusedError: if the new version cannot read the current data, or if the result would be
            True and the user has not accepted this consequence.
    """
    own = start.release.store_format if start.release else None
    theirs = offered.store_format
    if own is not None and theirs is not None and theirs < own:
        raise RefusedError(
            f"version {offered.version} reads data up to format {theirs}, and this card's have "
            f"format {own}: its gateway could not start. Expected a version with format {own} or "
            "newer"
        )
    if own is not None and theirs == own:
        return False
    if own is None or theirs is None:
        who = "This system" if own is None else "The bundle"
        reason = (
            f"{who} does not name the format of its data, so it is not known whether the version "
            "of now can read them afterwards"
        )
    else:
        reason = (
            f"Version {offered.version} writes data of format {theirs}, which the version of now "
            f"(up to {own}) cannot read afterwards"
        )
    if not is_accepted:
        raise RefusedError(f"{reason}. Install it with --rollback-ends if that is wanted")
    print(f"{reason}. Installed even so: --rollback-ends", flush=True)
    return True


def _compatible_of(places: Places) -> str:
    system = configparser.ConfigParser()
    system.read(places.root / "etc/rauc/system.conf")
    return system.get("system", "compatible", fallback="")
