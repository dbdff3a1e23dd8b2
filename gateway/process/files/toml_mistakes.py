"""Hints for common TOML mistakes, which Python's parser reports without explaining the fix."""

from typing import Final

_KEY: Final = "a key has only letters a to z, digits, - and _"
_HINTS: Final = (
    ("Cannot overwrite", "a key is set twice in one table: remove one"),
    ("Cannot declare", "a table is set twice; several of one kind need two brackets: [[serial]]"),
    (
        "Invalid value",
        'a text has straight quotes, "like this"; true and false are lowercase',
    ),
    (
        "Expected newline",
        'put quotes around a whole text, also around "5s", and a point into a decimal number',
    ),
    ("Invalid initial character", f"a table in braces is on one line; {_KEY}"),
    ("Invalid statement", f"write key = value; {_KEY}"),
    ("Unterminated", "a closing quote is missing"),
    ("Expected '='", f"write key = value; {_KEY}"),
    ("Unescaped", "write a text with a backslash in single quotes"),
    ("Unclosed", "a closing bracket is missing"),
)
"""First words of error messages of `tomllib`, each with a hint that explains the fix."""


def reason_of(error: Exception) -> str:
    """Return the message of a `TOMLDecodeError`, with a hint if the mistake is a common one.

    The message states the line and the column. It does not contain the text of the line, which
    might be a password.
    """
    text = str(error)
    hint = next((hint for begin, hint in _HINTS if text.startswith(begin)), None)
    return text if hint is None else f"{text}: {hint}"
