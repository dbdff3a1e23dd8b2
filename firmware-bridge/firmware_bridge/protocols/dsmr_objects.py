"""Splits a DSMR or IEC 62056-21 telegram into objects such as `1-0:1.8.1(000004.426*kWh)`.

Usually, each line contains one object. Some meters continue an object on the next line, or break a
line within parentheses. Heat meters put several objects on one line.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import reduce

from firmware_bridge.protocols.dsmr_time import is_time
from firmware_bridge.protocols.obis import (
    Code,
    heat_name_of,
    is_number,
    is_number_of_heat,
    is_of_heat,
    name_of,
)

# The DSMR 4.0 specification has examples with a period after a point: `1-0:31.7.0.255(001*A)`.
# Hager meters omit the medium: `0:0.0.0`.
_OBJECT = re.compile(
    r"(?:(?:([0-9]{1,3})-([0-9]{1,3})|0):)?([0-9A-Z]{1,3})[.:]([0-9A-Z]{1,3})"
    r"(?:[.:]([0-9]{1,3}))?(?:[*&.]([0-9]{1,3}))?((?:\s*\([^()]*\))*)"
)
# Heat meters put several objects in a line: `6.8(0029055*kWh)6.26(01589.28*m3)F(0)`.
_ONE_OF_SEVERAL = re.compile(r"(?:[0-9A-Z]{1,3}-[0-9]{1,3}:)?[0-9A-Z.:*]{1,16}(?:\([^()]*\))+")
_ERROR_WITHOUT_POINT = re.compile(r"^FF?(?=\()")
_BEGIN = re.compile(r"[0-9A-Z]{1,3}(-[0-9]{1,3}:[0-9]{1,3})?[.:][0-9A-Z]{1,3}[.:(*&]")
_CONTINUATION = re.compile(r"(?:\s*\([^()]*\))+")
_LINE_END = re.compile(rb"[\r\n]+")
_AROUND_LINES = " \t\0\x02"
"""Blanks, fillers, and the STX that a polled meter sends before the first object."""
_UNIT = re.compile(rb"\*[^()*]*")
_SIGNS = ((b"\xc2", b""), (b"\xb0", b"deg"), (b"\xb2", b"2"), (b"\xb3", b"3"))
"""Signs in units, in Latin-1 or, after C2, in UTF-8."""
_GROUP = re.compile(r"\(([^()]*)\)")
_METRES = re.compile(r"\*m$")
"""The unit `m` at the end of a value. Heat meters use it for minutes."""


@dataclass(frozen=True)
class TelegramObject:
    """An object of a telegram: its code, its name, and the strings in its parentheses.

    `is_number` is True if values with this code are always numbers. A value with another code is a
    number only if it has a unit.
    """

    code: Code
    name: str
    groups: tuple[str, ...]
    is_number: bool


def objects_in(telegram: bytes, skipped: Counter[str]) -> list[TelegramObject]:
    """Return the objects of a telegram. The first line identifies the meter, and is skipped.

    If two objects with different OBIS codes would get the same name, the second object is named
    after its OBIS code instead. `skipped` counts lines that are not objects. The reason is "text"
    if a line has characters that are not ASCII, otherwise "syntax".
    """
    codes_and_groups = _objects_in(_LINE_END.split(telegram)[1:], skipped)
    found = [(code, tuple(_parts_of(groups))) for code, groups in codes_and_groups]
    is_heat = any(is_of_heat(code, groups) for code, groups in found)
    sent = {code for code, _ in found}
    codes: dict[str, Code] = {}
    named: list[TelegramObject] = []
    for code, parts in found:
        groups = tuple(_METRES.sub("*min", each) for each in parts) if is_heat else parts
        name = heat_name_of(code) if is_heat else _name_of(code, sent)
        if codes.setdefault(name, code) != code:
            name = str(code)
        measured = is_number_of_heat(code) if is_heat else is_number(code)
        named.append(TelegramObject(code, name, groups, measured))
    return named


def is_quantity(group: str) -> bool:
    """Return True if the content of a pair of parentheses is a value with a unit."""
    return "*" in group


def _name_of(code: Code, sent: Collection[Code]) -> str:
    """Return the name of a code's quantity, or the code itself if no name is known.

    Meters use some codes in place of others:

    - channel 1 of electricity for channel 0 (Elster AS1440, Sagemcom XT211, meters in Switzerland)
    - the period 00 for the present value (Pafal)
    - medium 0 for electricity, in codes with a letter (Iskraemeco MT174)

    `sent` contains all codes of the telegram. If the meter also sends similar codes of channel 0,
    or registers without a period, then channel 1 or the period 00 has a meaning of its own.
    """
    usual = code
    if code.f == "00" and all(each.f is not None for each in sent if each.d == code.d):
        usual = replace(usual, f=None)
    if (code.a, code.b) == ("1", "1") and not any(
        (each.a, each.b, each.c, each.d) == ("1", "0", code.c, code.d) for each in sent
    ):
        usual = replace(usual, b="0")
    if (code.a, code.b) == ("0", "0") and not code.c.isdecimal():
        usual = replace(usual, a="1")
    name = name_of(usual)
    return str(code) if name == str(usual) else name


def _objects_in(lines: list[bytes], skipped: Counter[str]) -> Iterator[tuple[Code, list[str]]]:
    """Yield the OBIS code of each object in the lines, and the strings in its parentheses."""
    latest: tuple[Code, list[str]] | None = None
    for line in _separate_objects(_whole_lines(lines, skipped)):
        found = _OBJECT.fullmatch(line)
        if found is not None:
            if latest is not None:
                yield latest
            latest = (Code.of(found.groups()[:6]), _GROUP.findall(found[7]))
        elif latest is not None and _CONTINUATION.fullmatch(line) and _is_continued(*latest, line):
            latest[1].extend(_GROUP.findall(line))
        else:
            skipped["syntax"] += 1
    if latest is not None:
        yield latest


def _is_continued(code: Code, groups: list[str], line: str) -> bool:
    """Return True if `line` could continue an object that began in an earlier line.

    `code` is the object's OBIS code, and `groups` contains the strings in its parentheses so far.
    If the object is a number and already has its value, only a time can follow. In this case, any
    other line belongs to an object whose beginning was lost.
    """
    return len(groups) != 1 or not is_number(code) or is_time(_GROUP.findall(line)[0].strip())


def _separate_objects(lines: Iterator[str]) -> Iterator[str]:
    """Split lines that contain several objects. Yield one line per object.

    Heat meters report errors with the code `F`, and Iskraemeco MT171 with `FF`. Both are changed to
    `F.F`.
    """
    for line in lines:
        parts = _ONE_OF_SEVERAL.findall(line) if _OBJECT.fullmatch(line) is None else []
        for part in parts if "".join(parts) == line else [line]:
            yield _ERROR_WITHOUT_POINT.sub("F.F", part)


def _whole_lines(lines: list[bytes], skipped: Counter[str]) -> Iterator[str]:
    """Decode the lines of a telegram, and join lines that the meter broke within parentheses.

    `skipped` counts unreadable lines by reason.
    """
    part = ""
    for each in lines:
        try:
            plain = each if each.isascii() else _UNIT.sub(_plain_unit, each)
            line = plain.decode("ascii").strip(_AROUND_LINES)
        except UnicodeDecodeError:
            skipped["text"] += 1
            continue
        if part and _BEGIN.match(line):
            skipped["syntax"] += 1
            part = ""
        part += line
        if part.count("(") <= part.count(")"):
            if part:
                yield part
            part = ""
    if part:
        skipped["syntax"] += 1


def _plain_unit(unit: re.Match[bytes]) -> bytes:
    """Return a unit with its signs, such as those in `m³` and `°C`, in ASCII."""
    return reduce(lambda found, sign: found.replace(*sign), _SIGNS, unit[0])


def _parts_of(groups: list[str]) -> Iterator[str]:
    """Yield the strings in an object's parentheses.

    Heat meters put two values in one pair of parentheses: `(100.5*C&096.1*C)`. Each of these values
    is yielded separately.
    """
    for group in groups:
        parts = group.split("&")
        yield from map(str.strip, parts if all(map(is_quantity, parts)) else [group])
