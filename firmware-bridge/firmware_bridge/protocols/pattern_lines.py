r"""Protocol for lines that match a configured regular expression. Each named group is a quantity::

pattern = 'T=(?P<temperature>\S+) C, RH=(?P<humidity>\d+)%'
"""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from firmware_bridge.protocols.fixed_request import FIXED_REQUEST_DESCRIPTIONS, FixedRequestSettings
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.lines import LineDecoder
from firmware_bridge.protocols.text_values import (
    TYPES_DESCRIPTION,
    LineValues,
    TextLineSettings,
)
from firmware_bridge.readings.kinds import Kinds
from firmware_bridge.readings.measurement import Measurement
from firmware_bridge.readings.names import is_name
from gateway.process.declarations.quantities import Text, refusal

# The time to match a pattern with several repetitions grows with a power of the line's length.
MATCHED_CHARACTERS_MAX = 256
PATTERN_CHARACTERS_MAX = 1024


@dataclass(frozen=True, kw_only=True)
class PatternLines(FixedRequestSettings, TextLineSettings):
    """Settings for lines that match a regular expression with named groups."""

    descriptions: ClassVar = {
        "pattern": "Regular expression for a whole line. Its named groups are the quantities.",
        "types": TYPES_DESCRIPTION,
        **FIXED_REQUEST_DESCRIPTIONS,
    }

    pattern: Annotated[
        str,
        Text(
            rf"[\s\S]{{1,{PATTERN_CHARACTERS_MAX}}}",
            f"a regular expression of 1 to {PATTERN_CHARACTERS_MAX} characters",
        ),
    ]

    def check(self) -> None:
        """Reject a pattern that is invalid, has no named groups, or could take exponential time."""
        try:
            groups = re.compile(self.pattern).groupindex
        except (re.error, RecursionError, OverflowError) as error:
            raise refusal(f"a valid Python regular expression: {error}") from None
        if not groups:
            raise refusal("named groups in pattern, like (?P<temperature>[0-9.]+)")
        for name in groups:
            if not is_name(name):
                raise refusal(f'a name of 1 to 64 letters, digits or "_" in place of "{name}"')
        if has_nested_repeats(self.pattern):
            raise refusal(
                "no repetition within a repetition, like (a+)+, and no back-reference: a line "
                "could keep the bridge busy for hours"
            )
        super().check()

    def value_names(self, device: str) -> frozenset[str]:
        """Return the names of the groups in `pattern`. They do not depend on `device`."""
        return frozenset(re.compile(self.pattern).groupindex)

    def decoder(self) -> LineDecoder:
        """Create a decoder for one serial line."""
        reader = MatchReader(re.compile(self.pattern), kinds := Kinds(self.types))
        return LineDecoder(reader.read, can_mistake_part_of_line=True, kinds=kinds)


class MatchReader:
    """Reader of lines that match a regular expression.

    `kinds` contains the declared data types of the expression's named groups.
    """

    def __init__(self, expression: re.Pattern[str], kinds: Kinds) -> None:
        self._expression = expression
        self._kinds = kinds

    def read(self, line: str, skipped: Counter[str]) -> dict[str, Measurement]:
        """Return the measurements of one line. Groups that did not match have no measurement.

        Raises:
            Damaged: with reason "pattern" if the line does not match, "overlong" if it is too long,
                "type" if a value does not have the data type of its group, or "value" or "text" if
                a value is invalid.
        """
        if len(line) > MATCHED_CHARACTERS_MAX:
            raise Damaged("overlong")
        match = self._expression.fullmatch(line)
        if match is None:
            raise Damaged("pattern")
        values = LineValues(self._kinds, skipped)
        for name, text in match.groupdict().items():
            if text is not None:
                values.add_with_unit(name, text)
        return values.finish()


def has_nested_repeats(pattern: str) -> bool:
    """Return True if matching a line with this regular expression could take exponential time.

    The result is True if a repetition contains another repetition, or if the pattern has
    back-references.
    """
    # Only Python's own parser reads Python's dialect of regular expressions.
    from re import _parser  # type: ignore[attr-defined] # noqa: PLC0415

    return _repeats_in(_parser.parse(pattern), within=False)


def _repeats_in(part: Any, *, within: bool) -> bool:
    """Return True if matching this part of a parsed expression could take exponential time.

    `part` consists of nested lists and tuples of operations and their arguments. The argument
    `within` is True if the part is inside a repetition.
    """
    if isinstance(part, tuple) and part and str(part[0]) in _REPEATS:
        least, most, inner = part[1]
        many = most - least > 0 and most > 1
        return (within and many) or _repeats_in(inner, within=within or many)
    if isinstance(part, tuple) and part and str(part[0]) in ("GROUPREF", "GROUPREF_EXISTS"):
        return True
    if isinstance(part, list | tuple) or hasattr(part, "data"):
        parts = part.data if hasattr(part, "data") else part
        return any(_repeats_in(each, within=within) for each in parts)
    return False


_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
