"""SASLprep (RFC 4013): the normal form in which names and passwords are hashed and compared.

The same password typed on two keyboards can have different code points, and so a different hash.
Normalisation prevents that. The standard library provides the tables of RFC 3454.
"""

import stringprep
import unicodedata

_PROHIBITED = (
    stringprep.in_table_c12,
    stringprep.in_table_c21_c22,
    stringprep.in_table_c3,
    stringprep.in_table_c4,
    stringprep.in_table_c5,
    stringprep.in_table_c6,
    stringprep.in_table_c7,
    stringprep.in_table_c8,
    stringprep.in_table_c9,
)


class Unprepared(ValueError):
    """The text contains a character that is not allowed in a name or password.

    The message names it.
    """


def prepared_of(text: str, *, stored: bool) -> str:
    """Return the normal form of a text. Raises Unprepared.

    `stored`: the text will be stored, so code points unknown to Unicode 3.2 are rejected as well. A
    later version of Unicode could normalise them differently (RFC 3454 section 7).
    """
    # Each distinct character once: a password may have 64 KiB, and this blocks the interpreter.
    spaces = {ord(each): " " for each in {*text} if stringprep.in_table_c12(each)}
    nothing = {ord(each): "" for each in {*text} if stringprep.in_table_b1(each)}
    mapped = text.translate(spaces | nothing)
    normal = mapped if mapped.isascii() else unicodedata.ucd_3_2_0.normalize("NFKC", mapped)
    for character in dict.fromkeys(normal):
        if any(in_table(character) for in_table in _PROHIBITED):
            raise Unprepared(f"U+{ord(character):04X} is prohibited by RFC 4013")
        if stored and stringprep.in_table_a1(character):
            raise Unprepared(f"U+{ord(character):04X} is not in Unicode 3.2 (RFC 4013)")
    _refuse_mixed_directions(normal)
    return normal


def _refuse_mixed_directions(text: str) -> None:
    # RFC 3454 section 6: right-to-left text must begin and end as such, and contain no other.
    characters = {*text}
    if not any(stringprep.in_table_d1(character) for character in characters):
        return
    whole = stringprep.in_table_d1(text[0]) and stringprep.in_table_d1(text[-1])
    if not whole or any(stringprep.in_table_d2(character) for character in characters):
        raise Unprepared("letters from right to left and from left to right are mixed (RFC 4013)")
