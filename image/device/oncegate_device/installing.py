"""`update`: puts a signed bundle into the slot that does not run.

rauc verifies and writes; here is what rauc does not know: the record of updates, the copy of
U-Boot's environment, and the format of the gateway's data. The slot that runs is not touched.
"""

import configparser
import contextlib
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from oncegate_device import card, updates
from oncegate_device.places import Places, Writable, remounted, sync_folder
from oncegate_device.start import (
    KEPT_TRIES,
    STORE_FORMAT,
    VERSION,
    Release,
    Start,
    moment_of,
    start_of,
)
from oncegate_device.updates import Record, State, Update, line_of

SOURCE_CHARACTERS_MAX = 2000
"""Of an address: servers and proxies take no longer ones."""
INFO_SECONDS_MAX = 120
"""What rauc gets to fetch and verify a bundle's signature over a slow line."""
OUTPUT_BYTES_KEPT = 8192
"""Of rauc's output: its last lines say why it ended."""
EXPECTED = "expected a bundle's file (oncegate-VERSION-arm64.raucb) or its https:// address"

_REASONS = (
    (r"[Ii]nvalid bundle|squashfs|verity|[Cc]hecksum", "it is not a whole bundle"),
    (r"ignature|certificate|self.signed", "its signature is not one that this card trusts"),
    (r"ompatible", "it is made for another kind of device"),
    (r"[Nn]o space|too small|ENOSPC|larger than", "there is no room for it"),
    (r"curl|nbd|HTTP|https?:|resolve|timed? ?out|[Dd]ownload|stream", "the download broke off"),
)


class RefusedError(Exception):
    """Nothing was begun; the message says what was expected."""


class FailedError(Exception):
    """The update was not installed, and the record says so; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """What a bundle's manifest, whose signature was verified, says."""

    compatible: str
    version: str
    store_format: int | None


def install(
    source: str, places: Places, *, rollback_ends: bool, writable: Writable = remounted
) -> str:
    """Install the bundle; return in words what comes next.

    Raises:
        RefusedError: it was not begun.
        FailedError: rauc refused it or broke off.
    """
    bundle = _address_of(source)
    start = start_of(places)
    with _alone(places):
        _refuse_on_trial(start)
        try:
            return _Installation(start, places).run(bundle, rollback_ends, writable)
        finally:
            card.publish(places, start)


class _Installation:
    """One run of `update`; `record` is what is on disk."""

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
                _secure_environment(self.places.boot)
                status, output = _shown(["rauc", "install", *_progress(), source])
        except (OSError, subprocess.CalledProcessError) as error:
            raise self._failed(str(error)) from error
        if status:
            raise self._failed(_reason_in(output))
        format_ = offered.store_format
        release = Release(offered.version, format_) if format_ is not None else None
        self._save(updates.installed(self.record, moment_of(self.places), release))
        return "\n".join(card.sentences_of(self.record, self.start))

    def _offered(self, source: str) -> Bundle:
        """What the manifest says, once its signature is verified."""
        if "://" in source:
            # rauc reads a bundle from the network through this driver, and does not load it.
            subprocess.run(["modprobe", "nbd"], check=False)
        command = ["rauc", "info", "--output-format=json", source]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace",
                timeout=INFO_SECONDS_MAX, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise self._failed(str(error)) from error
        if done.returncode:
            raise self._failed(_reason_in(done.stderr + done.stdout))
        try:
            offered = _bundle_in(done.stdout)
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
    """The bundle as rauc, whose service runs elsewhere, finds it."""
    if len(source) > SOURCE_CHARACTERS_MAX or not source.isprintable():
        raise RefusedError(f"that is neither a file's name nor an address: {EXPECTED}")
    if "://" not in source:
        file = Path(source).resolve()
        if not file.is_file():
            raise RefusedError(f"{source}: there is no such file: {EXPECTED}")
        return str(file)
    try:
        parts = urlsplit(source)
        is_web = parts.scheme == "https" and bool(parts.hostname) and " " not in source
    except ValueError:
        is_web = False
    if not is_web:
        raise RefusedError(f"{source}: {EXPECTED}")
    return source


@contextlib.contextmanager
def _alone(places: Places) -> Iterator[None]:
    """One update at a time. A lost terminal does not end it: rauc's service would go on alone."""
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
    """The other slot is what a trial falls back to: it must not be overwritten."""
    name = f"BOOT_{start.slot}_LEFT"
    asked = subprocess.run(["fw_printenv", "-n", name], capture_output=True, text=True, check=False)
    left = asked.stdout.strip()
    if asked.returncode == 0 and left.isdecimal() and left != KEPT_TRIES:
        raise RefusedError(
            f"slot {start.slot} is still on trial, and slot {start.other} is the way back: wait "
            "until `oncegate-device status` says that it is kept"
        )


def _ends_rollback(offered: Bundle, start: Start, *, is_accepted: bool) -> bool:
    """Whether the version that runs could not read the data any more after this update."""
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
            f"{who} does not say the format of its data, so it is not known whether the version of "
            "now can read them afterwards"
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


def _bundle_in(text: str) -> Bundle:
    """Raises ValueError, TypeError or KeyError where it is not the manifest of a bundle of ours."""
    manifest = json.loads(text)
    compatible, version = manifest["compatible"], manifest["version"]
    if not isinstance(compatible, str) or not re.fullmatch(VERSION, version):
        raise ValueError("no version of ours")
    # image/bundle writes it here: rauc 1.8 (Debian 12) drops sections [meta.*] without a word.
    found = re.fullmatch(rf"store format ({STORE_FORMAT})", manifest.get("description") or "")
    return Bundle(compatible, version, int(found[1]) if found else None)


def _compatible_of(places: Places) -> str:
    system = configparser.ConfigParser()
    system.read(places.root / "etc/rauc/system.conf")
    return system.get("system", "compatible", fallback="")


def _secure_environment(boot: Path) -> None:
    """Make the copy that U-Boot takes where a cut spoils its environment during the update."""
    environment, copy = boot / "uboot.env", boot / "uboot.bak"
    whole = environment.read_bytes()
    if not _is_whole(whole):
        whole = copy.read_bytes()
        if not _is_whole(whole):
            raise OSError("U-Boot's environment is damaged, and so is its copy")
        _replace(environment, whole)
    else:
        _replace(copy, whole)


def _is_whole(environment: bytes) -> bool:
    """U-Boot's environment begins with the CRC of the rest."""
    return zlib.crc32(environment[4:]) == int.from_bytes(environment[:4], "little")


def _replace(path: Path, content: bytes) -> None:
    partial = path.with_suffix(".new")
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(path)
    sync_folder(path.parent)


def _progress() -> list[str]:
    return ["--progress"] if sys.stdout.isatty() else []


def _shown(command: list[str]) -> tuple[int, str]:
    """Run it with its output on ours, a progress bar too; return status and what it said last."""
    ours, theirs = os.openpty() if sys.stdout.isatty() else os.pipe()
    with os.fdopen(ours, "rb", buffering=0) as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        said = b""
        # A terminal that is closed at the other end answers with an error, not with an end.
        with contextlib.suppress(OSError):
            while data := output.read(4096):
                said = (said + data)[-OUTPUT_BYTES_KEPT:]
                with contextlib.suppress(OSError):
                    sys.stdout.buffer.write(data)
                    sys.stdout.buffer.flush()
        return process.wait(), said.decode(errors="replace")


def _reason_in(output: str) -> str:
    """Why rauc ended, in a sentence, with its own words behind."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output)
    lines = [line_of(line) for line in re.split(r"[\r\n]+", plain) if line.strip()]
    said = [line for line in lines if not line.startswith("Installing `")]
    errors = [line.partition("LastError:")[2].strip() for line in said if "LastError:" in line]
    reason = (errors or said or ["no reason was given"])[-1]
    for pattern, words in _REASONS:
        if re.search(pattern, reason):
            return f"{words} (rauc: {reason})"
    return f"rauc: {reason}"
