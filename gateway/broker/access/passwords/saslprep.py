"""SASLprep (RFC 4013): the normal form in which names and passwords are hashed and compared.

The same password typed on two keyboards can have different code points, and therefore different
hashes. Normalisation prevents this. The standard library provides the tables of RFC 3454.
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
    """Error raised if a string contains a character that is not allowed in a name or password.

    The message names the character.
    """


def prepared_of(text: str, *, stored: bool) -> str:
    """Return the normal form of a string. Raises Unprepared if a character is not allowed.

    Set `stored` to True if the string will be stored. Code points unknown to Unicode 3.2 are then
    rejected as well, because a later version of Unicode could normalise them differently (RFC 3454
    section 7).
    """
    # Check each distinct character once, since a password of 64 KiB would block the interpreter.
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
    # RFC 3454 section 6: right-to-left text must begin and end with right-to-left characters, and
    # must not contain left-to-right characters.
    characters = {*text}
    if not any(stringprep.in_table_d1(character) for character in characters):
        return
    whole = stringprep.in_table_d1(text[0]) and stringprep.in_table_d1(text[-1])
    if not whole or any(stringprep.in_table_d2(character) for character in characters):
        raise Unprepared("letters from right to left and from left to right are mixed (RFC 4013)")
