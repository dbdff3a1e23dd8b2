"""Protocol for lines of values that are separated by commas, semicolons, tabs, blanks or `|`::

    21.5,40,1013.2
    21,5;40;1013,2

The names of the columns come from the configuration. A line is split at semicolons or tabs if this
gives the right number of columns, otherwise at commas. It is split at blanks and `|` only if all
values are numbers, because prose has blanks, too. CSV lines have no checksum. To prevent boot
messages from becoming readings, a line counts as damaged if any of its values is invalid.
"""

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from firmware_bridge.protocols.frame import TYPE, Damaged
from firmware_bridge.protocols.lines import LineDecoder, unwrapped
from firmware_bridge.protocols.text_values import (
    TYPES_DESCRIPTION,
    LineValues,
    TextLineSettings,
    is_nothing,
    number_of,
)
from firmware_bridge.readings.kinds import Kinds
from firmware_bridge.readings.measurement import Measurement
from gateway.process.declarations.names import NAME_PATTERN
from gateway.process.declarations.quantities import Items, Text, refusal

SKIPPED = "_"
"""The name in `columns` for a column that is not read."""

_OTHER_DELIMITERS = (";", "\t")

Column = Annotated[
    str,
    Text(
        rf"{SKIPPED}|{NAME_PATTERN}",
        "1 to 64 letters, digits, '.', ':', '_' or '-', or '_' alone to leave the column out",
    ),
]


@dataclass(frozen=True, kw_only=True)
class CsvLines(TextLineSettings):
    """Settings for CSV lines. Each line contains the quantities of `columns`, in this order."""

    descriptions: ClassVar = {
        "columns": 'Quantities of the columns of a CSV line, in order. "_" skips a column.',
        "types": TYPES_DESCRIPTION,
    }

    columns: Annotated[tuple[Column, ...], Items(1)]

    def check(self) -> None:
        """Reject settings in which two columns have the same name, unless they are skipped."""
        names = [name for name in self.columns if name != SKIPPED]
        for name in names:
            if names.count(name) > 1:
                raise refusal(f'"{name}" once in columns, not several times')
        super().check()

    def value_names(self, device: str) -> frozenset[str]:
        """Return the names of the columns that are not skipped. They do not depend on `device`."""
        return frozenset(self.columns) - {SKIPPED}

    def decoder(self) -> LineDecoder:
        """Create a decoder for one serial line."""
        reader = CellReader(self.columns, kinds := Kinds(self.types))
        return LineDecoder(reader.read, can_mistake_part_of_line=True, kinds=kinds)


class CellReader:
    """Reader of CSV lines.

    `columns` contains the names of the columns in order, and `kinds` their data types.
    """

    def __init__(self, columns: Sequence[str], kinds: Kinds) -> None:
        self._columns = list(columns)
        self._kinds = kinds

    def read(self, line: str, skipped: Counter[str]) -> dict[str, Measurement]:
        """Return the measurements of a line.

        If the line is a heading with the names of the columns, the result is empty. Loggers send
        such a heading when they restart. `skipped` counts values that
        the device could not measure.

        Raises:
            Damaged: with reason "columns" if the number of columns is wrong, "type" if a value does
                not have its column's type, or "syntax", "value" or "text" if the line or a value is
                invalid. The reason is also "type" if all values are strings, but no column is known
                to contain strings.
        """
        cells = self._cells_of(unwrapped(line))
        if cells == self._columns:
            return {}
        values = LineValues(self._kinds, skipped)
        for column, cell in zip(self._columns, cells, strict=True):
            if column != SKIPPED:
                values.add_with_unit(column, cell)
        if values.is_prose:
            raise Damaged(TYPE)
        return values.finish()

    def _cells_of(self, line: str) -> list[str]:
        """Split a line into cells.

        An extra empty cell at the end is ignored, because some devices also print a separator after
        the last value.

        Raises:
            Damaged: with reason "columns" if the number of cells is wrong, "syntax" if the line is
                not CSV, or "value" if a number between blanks is out of range.
        """
        reason = "columns"
        for delimiter in (*(each for each in _OTHER_DELIMITERS if each in line), ","):
            try:
                (cells,) = csv.reader(
                    [line], delimiter=delimiter, strict=True, skipinitialspace=True
                )
            except csv.Error:
                # A quoted cell may contain a delimiter of other lines: 1,2,"half; open"
                reason = "syntax"
                continue
            cells = [cell.strip() for cell in cells]
            if len(cells) == len(self._columns) + 1 and not cells[-1]:
                cells.pop()
            if len(cells) == len(self._columns):
                return cells
        cells = line.replace("|", " ").split()
        if len(cells) == len(self._columns) and all(map(_is_number_or_nothing, cells)):
            return cells
        raise Damaged(reason)


def _is_number_or_nothing(cell: str) -> bool:
    return is_nothing(cell) or number_of(cell) is not None
