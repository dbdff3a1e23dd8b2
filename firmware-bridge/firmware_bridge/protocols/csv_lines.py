"""Lines of values separated by commas; the configuration names them::

21.5,40,1013.2
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.interface import DecoderSettings
from firmware_bridge.protocols.lines import LineDecoder
from firmware_bridge.protocols.text_values import measurements_of, value_of
from firmware_bridge.readings.measurement import Measurement
from gateway.keys.names import NAME_PATTERN
from gateway.keys.quantities import Items, Text, refusal

SKIPPED = "_"
"""The name of a column that is left out."""

Column = Annotated[
    str,
    Text(
        rf"{SKIPPED}|{NAME_PATTERN}",
        "1 to 64 letters, digits, '.', ':', '_' or '-', or '_' alone to leave the column out",
    ),
]


@dataclass(frozen=True, kw_only=True)
class CsvLines(DecoderSettings):
    """Each line has the same quantities, in the order of `columns`."""

    descriptions: ClassVar = {
        "columns": 'Quantities of a CSV line in order; "_" leaves a column out.'
    }

    columns: Annotated[tuple[Column, ...], Items(1)]

    def check(self) -> None:
        """Refuse two columns of one name."""
        names = [name for name in self.columns if name != SKIPPED]
        for name in names:
            if names.count(name) > 1:
                raise refusal(f'"{name}" once in columns, not several times')

    def value_names(self, device: str) -> frozenset[str]:
        """Return the columns."""
        return frozenset(self.columns) - {SKIPPED}

    def decoder(self) -> LineDecoder:
        """Create a decoder for one line."""
        return LineDecoder(
            lambda line: read_cells(line, self.columns), can_mistake_part_of_line=True
        )


def read_cells(line: str, columns: Sequence[str]) -> dict[str, Measurement]:
    """Read the measurements of a line; none for a heading, which loggers repeat at a restart.

    Raises:
        Damaged: "syntax", "columns" for more or fewer of them, "value", "name", "text", "overlong".
    """
    try:
        cells = next(csv.reader([line], strict=True, skipinitialspace=True))
    except csv.Error:
        raise Damaged("syntax") from None
    cells = [cell.strip() for cell in cells]
    if len(cells) != len(columns):
        raise Damaged("columns")
    if cells == list(columns):
        return {}
    return measurements_of(
        [
            (column, value_of(cell))
            for column, cell in zip(columns, cells, strict=True)
            if column != SKIPPED
        ]
    )
