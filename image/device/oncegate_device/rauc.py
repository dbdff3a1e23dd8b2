"""Runs rauc to read verified manifests, install bundles and select slots. Explains failures."""

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from oncegate_device.start import STORE_FORMAT, VERSION
from oncegate_device.updates import line_of

INFO_SECONDS_MAX = 120
"""Timeout for rauc to read a bundle's signature over a slow connection, and to verify it."""
OUTPUT_BYTES_KEPT = 8192
"""Number of bytes kept from the end of rauc's output, where the reason for a failure is."""

_REASONS = (
    (r"[Ii]nvalid bundle|squashfs|verity|[Cc]hecksum", "it is not a whole bundle"),
    (r"ignature|certificate|self.signed", "its signature is not one that this card trusts"),
    (r"ompatible", "it is made for another kind of device"),
    (r"[Nn]o space|too small|ENOSPC|larger than", "there is no room for it"),
    (r"curl|nbd|HTTP|https?:|resolve|timed? ?out|[Dd]ownload|stream", "the download broke off"),
)


@dataclass(frozen=True, slots=True)
class Bundle:
    """The manifest of a bundle whose signature has been verified.

    `store_format` is the number of the data format that `version` writes, or None if unknown.
    """

    compatible: str
    version: str
    store_format: int | None


def prepare_for(source: str) -> None:
    """If `source` is a URL, load the kernel module that rauc needs to read a bundle from it."""
    if "://" in source:
        subprocess.run(["modprobe", "nbd"], check=False)


def info(source: str) -> subprocess.CompletedProcess[str]:
    """Run rauc to read the manifest of a bundle. rauc verifies the signature first.

    Raises:
        OSError: if rauc cannot be started.
        subprocess.TimeoutExpired: if rauc does not finish within INFO_SECONDS_MAX.
    """
    return subprocess.run(
        ["rauc", "info", "--output-format=json", source],
        capture_output=True, text=True, errors="replace", timeout=INFO_SECONDS_MAX, check=False,
    )  # fmt: skip


def bundle_in(text: str) -> Bundle:
    """Parse a bundle's manifest, which is JSON printed by rauc.

    Raises:
        ValueError, TypeError, KeyError: if this is not the manifest of a bundle for this gateway.
    """
    manifest = json.loads(text)
    compatible, version = manifest["compatible"], manifest["version"]
    if not isinstance(compatible, str) or not re.fullmatch(VERSION, version):
        raise ValueError("no version of ours")
    # image/bundle writes it here: rauc 1.8 (Debian 12) silently drops sections [meta.*].
    found = re.fullmatch(rf"store format ({STORE_FORMAT})", manifest.get("description") or "")
    return Bundle(compatible, version, int(found[1]) if found else None)


def install(source: str, progress: Callable[[int], None]) -> tuple[int, str]:
    """Install a bundle with rauc. Return rauc's exit status and the end of rauc's output.

    `progress` is called with each new percentage.
    """
    return _shown(["rauc", "install", *_progress(), source], progress)


def mark_active(bootname: str) -> subprocess.CompletedProcess[str]:
    """Select the slot `bootname` (`A` or `B`) for the next start.

    The slot is then on trial, as after an update. U-Boot tries to start it a limited number of
    times. If the slot has not been marked good after these attempts, U-Boot starts the other slot.

    Raises:
        OSError: if rauc cannot be started.
        subprocess.TimeoutExpired: if rauc does not finish within INFO_SECONDS_MAX.
    """
    slot = {"A": "rootfs.0", "B": "rootfs.1"}[bootname]
    return subprocess.run(
        ["rauc", "status", "mark-active", slot],
        capture_output=True, text=True, errors="replace", timeout=INFO_SECONDS_MAX, check=False,
    )  # fmt: skip


def percent_in(output: bytes) -> int | None:
    """Return the last percentage in rauc's output, or None if it contains no percentage.

    For example, the line ` 40% Copying image` contains the percentage 40.
    """
    found = re.findall(rb"(?:^|[\r\n]) *([0-9]{1,3})% ", output)
    return min(int(found[-1]), 100) if found else None


def reason_in(output: str) -> str:
    """Return a sentence about why rauc failed, with rauc's own message in parentheses."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output)
    lines = [line_of(line) for line in re.split(r"[\r\n]+", plain) if line.strip()]
    kept = [line for line in lines if not line.startswith("Installing `")]
    errors = [line.partition("LastError:")[2].strip() for line in kept if "LastError:" in line]
    reason = (errors or kept or ["no reason was given"])[-1]
    for pattern, words in _REASONS:
        if re.search(pattern, reason):
            return f"{words} (rauc: {reason})"
    return f"rauc: {reason}"


def _progress() -> list[str]:
    return ["--progress"] if sys.stdout.isatty() else []


def _shown(command: list[str], progress: Callable[[int], None]) -> tuple[int, str]:
    """Run a command and show its output, including a progress bar.

    `progress` is called with each new percentage. Return the exit status and the end of the
    output.
    """
    ours, theirs = os.openpty() if sys.stdout.isatty() else os.pipe()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        output, shown = b"", None
        # When the other end of a terminal is closed, reading raises an error instead of ending.
        with contextlib.suppress(OSError):
            while data := terminal.read(4096):
                output = (output + data)[-OUTPUT_BYTES_KEPT:]
                percent = percent_in(output)
                if percent is not None and percent != shown:
                    shown = percent
                    progress(percent)
                with contextlib.suppress(OSError):
                    sys.stdout.buffer.write(data)
                    sys.stdout.buffer.flush()
        return process.wait(), output.decode(errors="replace")
