"""Frames of wired M-Bus (EN 13757-2), with bytes in hexadecimal::

    E5                                                     acknowledgement
    10 | C | A | checksum | 16                             short frame: a request
    68 | L | L | 68 | C | A | CI | data | checksum | 16    long frame

C is the control byte, A is the address, and CI specifies the type of the data. L is the number of
bytes from C to the end of the data. The checksum is the sum of the bytes from C on, modulo 256.
"""

import re
from typing import Final

from firmware_bridge.protocols.frame import Damaged

ACKNOWLEDGEMENT: Final = b"\xe5"
ANSWER_BYTES_MAX: Final = 261
"""Maximum bytes of a long frame, because its length field has 8 bits."""
NETWORK_ADDRESS: Final = 253
"""Address of the meter that was selected by its secondary address."""
_SHORT_START, _LONG_START, _STOP = 0x10, 0x68, 0x16
_SND_NKE, _SND_UD, _REQ_UD2, _FCB = 0x40, 0x53, 0x5B, 0x20
_CI_SELECT = 0x52
_LONG_EXTRA = 6
_RSP_UD: Final = 0x08
_SECONDARY = re.compile(r"([0-9F]{8})(?:([0-9A-F]{4})([0-9A-F]{2})([0-9A-F]{2}))?", re.ASCII)


def initialisation(address: int) -> bytes:
    """Return the SND_NKE frame, which resets a meter to its first telegram."""
    return _short(_SND_NKE, address)


def request(address: int, *, toggled: bool) -> bytes:
    """Return the REQ_UD2 frame, which requests a telegram from a meter.

    If the argument `toggled` has changed since the previous request, the meter sends its next
    telegram. Otherwise, the meter repeats its last telegram.
    """
    return _short(_REQ_UD2 | (_FCB if toggled else 0), address)


def selection(secondary: str) -> bytes:
    """Return the frame that selects a meter by its secondary address.

    The address contains the meter's number, and optionally the manufacturer, version and medium.
    The two bytes of the manufacturer are in the order in which they are transmitted. Programs that
    scan for meters show them in this order too.
    """
    found = _SECONDARY.fullmatch(secondary.upper())
    assert found is not None, "the configuration checks it"
    number, maker, version, medium = found.groups()
    content = bytes((_SND_UD, NETWORK_ADDRESS, _CI_SELECT)) + bytes.fromhex(number)[::-1]
    content += bytes.fromhex((maker or "FFFF") + (version or "FF") + (medium or "FF"))
    return _long(content)


def is_selected_by(header: bytes, secondary: str) -> bool:
    """Return True if a response is from a meter that matches the secondary address.

    `header` contains the meter's number, manufacturer, version and medium. Wildcards in the address
    match any value.
    """
    wanted = selection(secondary)[7:15]
    numbers = zip(wanted[:4].hex().upper(), header[:4].hex().upper(), strict=True)
    if any(each not in ("F", found) for each, found in numbers):
        return False
    of_maker = wanted[4:6] in (b"\xff\xff", header[4:6])
    return of_maker and all(each in (0xFF, header[at]) for at, each in enumerate(wanted[6:], 6))


def answer_in(data: bytes) -> bytes | None:
    """Return the content of the long frame in a response, or None if the frame is incomplete.

    The content begins with the control byte C. Bytes before the frame are skipped: an echo of a
    short request, acknowledgements, and noise.

    Raises:
        Damaged: with reason "checksum" if no frame in the response has a valid checksum.
    """
    damage: Damaged | None = None
    for position, byte in enumerate(data):
        if byte != _LONG_START:
            continue
        head = data[position : position + 4]
        if (len(head) > 1 and not head[1] >= 3) or (len(head) > 2 and head[1] != head[2]):
            continue
        if len(head) > 3 and head[3] != _LONG_START:
            continue
        if len(head) < 4 or len(data) < position + head[1] + _LONG_EXTRA:
            return None
        content = data[position + 4 : position + 4 + head[1]]
        checksum, stop = data[position + 4 + head[1] : position + head[1] + _LONG_EXTRA]
        if checksum == sum(content) & 0xFF and stop == _STOP:
            if content[0] & 0x4F == _RSP_UD:
                return content
            continue
        damage = Damaged("checksum")
    if damage is not None:
        raise damage
    return None


def _short(control: int, address: int) -> bytes:
    return bytes((_SHORT_START, control, address, (control + address) & 0xFF, _STOP))


def _long(content: bytes) -> bytes:
    size = len(content)
    return (
        bytes((_LONG_START, size, size, _LONG_START))
        + content
        + bytes((sum(content) & 0xFF, _STOP))
    )
