"""Host name and network of a gateway that runs from the SD card.

The settings come from the card's report. The current values come from the kernel, through files
that every user can read and two system calls that need no special permission.
"""

import array
import contextlib
import fcntl
import ipaddress
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from api import limits
from api.models.network import EthernetSettings, Interface, LastChange, Network, WifiSettings
from api.models.values import Reported, Seconds
from api.status.card import bytes_of
from gateway.process.control.received_json import value_of_json

_SIOCGIFCONF: Final = 0x8912
_SIOCGIFNETMASK: Final = 0x891B
_SIOCGIWESSID: Final = 0x8B1B
_IFREQ_BYTES: Final = 40
_SSID_BYTES_MAX: Final = 32
_DEFAULT_ROUTE: Final = "00000000"


class _Change(Reported):
    state: str
    sentence: str
    until_s: Seconds | None


class _Settings(Reported):
    wifi: WifiSettings | None
    ethernet: EthernetSettings | None
    change: _Change | None


class _Card(Reported):
    """The network settings in the card's report (docs/formats/card.md)."""

    network: _Settings | None = None


class NetworkReader:
    """Reader of the card's settings and the kernel's addresses. It reads them for each request."""

    def __init__(
        self,
        card_file: Path,
        proc: Path = Path("/proc"),
        interfaces: Path = Path("/sys/class/net"),
        resolv_conf: Path = Path("/run/systemd/resolve/resolv.conf"),
    ) -> None:
        """Create a reader of the card's report and of the kernel's files at these paths."""
        self._card_file: Final = card_file
        self._proc: Final = proc
        self._interfaces: Final = interfaces
        self._resolv_conf: Final = resolv_conf

    def read(self) -> Network | None:
        """Return the host name, the network interfaces and the card's network settings.

        Return None if this machine does not run from Oncegate's SD card, and so has no such
        settings.
        """
        settings = self._settings()
        if settings is None:
            return None
        return Network(
            hostname=socket.gethostname(),
            interfaces=list(self._shown()),
            missing_adapter=self._missing_adapter(settings.ethernet),
            gateway=self._gateway(),
            dns=self._name_servers(),
            wifi=settings.wifi,
            ethernet=settings.ethernet,
            change=_last(settings.change),
        )

    def _settings(self) -> _Settings | None:
        try:
            return _Card.model_validate(value_of_json(bytes_of(self._card_file))).network
        except (OSError, ValidationError, ValueError, RecursionError):
            return None

    def _shown(self) -> Iterator[Interface]:
        """Yield the interfaces to show: those that have an address or are wireless."""
        addresses: dict[str, list[str]] = {}
        for name, address in [*_ipv4(), *self._ipv6()]:
            addresses.setdefault(name, []).append(address)
        signals = self._signals()
        for name in sorted(self._names()):
            is_wireless = (self._interfaces / name / "wireless").exists()
            if name != "lo" and (is_wireless or name in addresses):
                yield Interface(
                    name=name,
                    addresses=addresses.get(name, [])[: limits.NETWORK_ITEMS_MAX],
                    is_wireless=is_wireless,
                    ssid=_ssid_of(name) if is_wireless else None,
                    signal_dbm=signals.get(name),
                )

    def _missing_adapter(self, ethernet: EthernetSettings | None) -> str | None:
        """Return the name of the configured network adapter if this machine does not have it.

        Return None if the adapter exists, or if no adapter is configured for a fixed address.
        """
        named = ethernet.interface if ethernet is not None else None
        if named is None or not self._interfaces.is_dir() or (self._interfaces / named).exists():
            return None
        return named

    def _names(self) -> list[str]:
        try:
            return [each.name for each in self._interfaces.iterdir()][: limits.INTERFACES_MAX]
        except OSError:
            return []

    def _ipv6(self) -> Iterator[tuple[str, str]]:
        """Yield interfaces with their IPv6 addresses, from /proc/net/if_inet6 (proc(5))."""
        for line in self._lines("net/if_inet6"):
            with contextlib.suppress(ValueError):
                raw, _, prefix, scope, _, name = line.split()
                if int(scope, 16) == 0:
                    address = ipaddress.IPv6Address(bytes.fromhex(raw))
                    yield name, f"{address}/{int(prefix, 16)}"

    def _signals(self) -> dict[str, int]:
        """Return each wireless interface's signal strength in dBm, from /proc/net/wireless."""
        signals = {}
        for line in self._lines("net/wireless"):
            name, colon, values = line.partition(":")
            with contextlib.suppress(ValueError, IndexError):
                if colon:
                    signals[name.strip()] = int(float(values.split()[2]))
        return signals

    def _gateway(self) -> str | None:
        """Return the router of the IPv4 default route, or None if there is no default route.

        If there are several default routes, the one with the lowest metric is used.
        """
        found = []
        for line in self._lines("net/route"):
            values = line.split()
            with contextlib.suppress(ValueError, IndexError):
                if values[1] == values[7] == _DEFAULT_ROUTE:
                    router = ipaddress.IPv4Address(struct.pack("=I", int(values[2], 16)))
                    found.append((int(values[6]), str(router)))
        return min(found)[1] if found else None

    def _name_servers(self) -> list[str]:
        try:
            lines = self._resolv_conf.read_text(errors="replace").splitlines()
        except OSError:
            return []
        words = [line.split() for line in lines if line.startswith("nameserver ")]
        return [each[1] for each in words if len(each) > 1][: limits.NETWORK_ITEMS_MAX]

    def _lines(self, name: str) -> list[str]:
        try:
            with (self._proc / name).open(errors="replace") as file:
                return file.read(limits.CARD_BYTES_MAX).splitlines()
        except OSError:
            return []


def _last(change: _Change | None) -> LastChange | None:
    if change is None or change.state not in ("trial", "kept", "undone", "refused"):
        return None
    now_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    left = None if change.until_s is None else max(0.0, change.until_s - now_s)
    return LastChange.model_validate(
        {"state": change.state, "sentence": change.sentence, "seconds_left": left}
    )


def _ipv4() -> Iterator[tuple[str, str]]:
    """Yield interfaces with their IPv4 addresses (netdevice(7), SIOCGIFCONF)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        room = array.array("B", bytes(_IFREQ_BYTES * limits.INTERFACES_MAX))
        place, _ = room.buffer_info()
        try:
            answer = fcntl.ioctl(asking, _SIOCGIFCONF, struct.pack("iL", len(room), place))
        except OSError:
            return
        used, _ = struct.unpack("iL", answer)
        for start in range(0, used, _IFREQ_BYTES):
            request = room[start : start + _IFREQ_BYTES].tobytes()
            name = request[:16].split(b"\0")[0].decode(errors="replace")
            address = socket.inet_ntoa(request[20:24])
            try:
                mask = fcntl.ioctl(asking, _SIOCGIFNETMASK, request)[20:24]
            except OSError:
                continue  # the address was removed meanwhile
            yield name, f"{address}/{int.from_bytes(mask, 'big').bit_count()}"


def _ssid_of(name: str) -> str | None:
    """Return the name of the wireless network that an interface has joined.

    Return None if the interface has not joined a network. The system call is SIOCGIWESSID
    (linux/wireless.h).
    """
    room = array.array("B", bytes(_SSID_BYTES_MAX + 1))
    place, _ = room.buffer_info()
    request = struct.pack("16sPHH", name.encode()[:15], place, _SSID_BYTES_MAX, 0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            answer = fcntl.ioctl(asking, _SIOCGIWESSID, request.ljust(_IFREQ_BYTES, b"\0"))
        except OSError:
            return None
    _, _, length, _ = struct.unpack_from("16sPHH", answer)
    return room[: min(length, _SSID_BYTES_MAX)].tobytes().decode(errors="replace") or None
