"""Annotations for configuration values, such as `"30s"`, `"64MiB"`, numbers and strings.

Each class annotates fields of a section (a table of the configuration file). An annotation parses
the value in the file, and can convert it back to text. If a value is invalid, the error describes
the allowed values. A duration or size without a unit is rejected, because it would be unclear
whether 30 means seconds.

pydantic is imported only when a value is validated. A service that does not validate values
therefore needs less memory (docs/decisions/0075-*.md).
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import PydanticCustomError, core_schema

NEVER = "never"

_SECONDS_OF_UNIT = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_BYTES_OF_UNIT = {
    "TiB": 1 << 40,
    "GiB": 1 << 30,
    "MiB": 1 << 20,
    "KiB": 1 << 10,
    "TB": 10**12,
    "GB": 10**9,
    "MB": 10**6,
    "kB": 10**3,
    "B": 1,
}
_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,6})?"
_QUANTITY = re.compile(rf"({_NUMBER}) ?([A-Za-z]{{1,3}})", re.ASCII)


def refusal(allowed: str) -> "PydanticCustomError":
    """Return the exception for an invalid value. `allowed` describes the allowed values."""
    from pydantic_core import PydanticCustomError  # noqa: PLC0415

    return PydanticCustomError("not_allowed", "{allowed}", {"allowed": allowed})


def duration_text(seconds: float | None) -> str:
    """Return a duration in seconds as text, such as `"90s"`, `"50ms"`, or `"never"` for None."""
    if seconds is None:
        return NEVER
    if seconds and seconds < 1:
        return f"{seconds * 1000:g}ms"
    return f"{seconds:.15g}s"


def size_text(size_bytes: int) -> str:
    """Return a size as text in the largest binary unit that divides it, such as `"2MiB"`."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if size_bytes and size_bytes % _BYTES_OF_UNIT[unit] == 0:
            return f"{size_bytes // _BYTES_OF_UNIT[unit]}{unit}"
    return f"{size_bytes}B"


class Quantity:
    """Base class of annotations for configuration values, such as `Duration` and `Size`.

    pydantic calls `value_of` to parse the value in the configuration file.
    """

    def value_of(self, written: object) -> object:
        raise NotImplementedError

    def text_of(self, value: Any) -> str:
        return str(value)

    def schema(self) -> dict[str, Any]:
        """Return a JSON Schema for the value as written in the configuration file.

        The schema is as strict as JSON Schema allows, but accepts every value that `value_of`
        accepts. Its `description` describes the allowed values.
        """
        raise NotImplementedError

    def __get_pydantic_core_schema__(
        self, source: Any, handler: "GetCoreSchemaHandler"
    ) -> "core_schema.CoreSchema":
        from pydantic_core import core_schema  # noqa: PLC0415

        return core_schema.no_info_plain_validator_function(self.value_of)


@dataclass(frozen=True, slots=True)
class Duration(Quantity):
    """Annotation for a duration in seconds (float).

    If `never` is True, `"never"` is allowed and becomes None.
    """

    seconds_min: float
    seconds_max: float
    never: bool = False

    @property
    def allowed(self) -> str:
        limits = f'"{duration_text(self.seconds_min)}" to "{duration_text(self.seconds_max)}"'
        also = f' or "{NEVER}"' if self.never else ""
        return f'a duration with its unit (ms, s, m, h, d), from {limits}{also}, like "30s"'

    def value_of(self, written: object) -> float | None:
        if self.never and written == NEVER:
            return None
        match = _QUANTITY.fullmatch(written) if isinstance(written, str) else None
        if match is None or match[2] not in _SECONDS_OF_UNIT:
            raise refusal(self.allowed)
        seconds = float(match[1]) * _SECONDS_OF_UNIT[match[2]]
        if not self.seconds_min <= seconds <= self.seconds_max:
            raise refusal(self.allowed)
        return seconds

    def schema(self) -> dict[str, Any]:
        written = rf"{_NUMBER} ?(?:{'|'.join(_SECONDS_OF_UNIT)})"
        pattern = f"^(?:{written}|{NEVER})$" if self.never else f"^{written}$"
        return {"type": "string", "pattern": pattern, "description": self.allowed}

    def text_of(self, value: Any) -> str:
        return duration_text(value)


def is_never(quantity: Quantity) -> bool:
    """Return True if the annotation `quantity` is a duration that allows the value `"never"`."""
    return isinstance(quantity, Duration) and quantity.never


@dataclass(frozen=True, slots=True)
class Size(Quantity):
    """Annotation for a size in bytes (int) between two limits, inclusive."""

    bytes_min: int
    bytes_max: int

    @property
    def allowed(self) -> str:
        limits = f'"{size_text(self.bytes_min)}" to "{size_text(self.bytes_max)}"'
        units = "B, KiB, MiB, GiB, TiB, kB, MB, GB, TB"
        return f'a size with its unit ({units}), from {limits}, like "64MiB"'

    def value_of(self, written: object) -> int:
        match = _QUANTITY.fullmatch(written) if isinstance(written, str) else None
        if match is None or match[2] not in _BYTES_OF_UNIT:
            raise refusal(self.allowed)
        size_bytes = float(match[1]) * _BYTES_OF_UNIT[match[2]]
        if not size_bytes.is_integer() or not self.bytes_min <= size_bytes <= self.bytes_max:
            raise refusal(self.allowed)
        return int(size_bytes)

    def schema(self) -> dict[str, Any]:
        pattern = rf"^{_NUMBER} ?(?:{'|'.join(_BYTES_OF_UNIT)})$"
        return {"type": "string", "pattern": pattern, "description": self.allowed}

    def text_of(self, value: Any) -> str:
        return size_text(value)


@dataclass(frozen=True, slots=True)
class Whole(Quantity):
    """Annotation for an integer between two limits, inclusive."""

    minimum: int
    maximum: int

    @property
    def allowed(self) -> str:
        return f"a whole number from {self.minimum} to {self.maximum}"

    def value_of(self, written: object) -> int:
        # In Python True is an int; in a configuration it is a mistake.
        if not isinstance(written, int) or isinstance(written, bool):
            raise refusal(self.allowed)
        if not self.minimum <= written <= self.maximum:
            raise refusal(self.allowed)
        return written

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}


@dataclass(frozen=True, slots=True)
class Number(Quantity):
    """Annotation for an integer or float whose absolute value is at most `magnitude_max`.

    `minimum` is an additional lower limit, or None if there is none.
    """

    magnitude_max: float = 1e18
    minimum: float | None = None

    @property
    def allowed(self) -> str:
        least = -self.magnitude_max if self.minimum is None else self.minimum
        return f"a number from {least:g} to {self.magnitude_max:g}"

    def value_of(self, written: object) -> float:
        if isinstance(written, bool) or not isinstance(written, int | float):
            raise refusal(self.allowed)
        # The comparison is also False for NaN.
        if not abs(written) <= self.magnitude_max:
            raise refusal(self.allowed)
        if self.minimum is not None and written < self.minimum:
            raise refusal(self.allowed)
        return written

    def schema(self) -> dict[str, Any]:
        least = -self.magnitude_max if self.minimum is None else self.minimum
        return {"type": "number", "minimum": least, "maximum": self.magnitude_max}


@dataclass(frozen=True, slots=True)
class Factor(Number):
    """Annotation for a number by which values are multiplied. With 0, all values would be lost."""

    @property
    def allowed(self) -> str:
        least = -self.magnitude_max if self.minimum is None else self.minimum
        return f"a number from {least:g} to {self.magnitude_max:g}, but not 0"

    def value_of(self, written: object) -> float:
        value = Number.value_of(self, written)
        if value == 0:
            raise refusal(self.allowed)
        return value

    def schema(self) -> dict[str, Any]:
        return {**Number.schema(self), "not": {"const": 0}}


@dataclass(frozen=True, slots=True)
class Text(Quantity):
    """Annotation for a string that must completely match the regular expression `pattern`.

    `description` explains the pattern in words.
    """

    pattern: str
    description: str

    @property
    def allowed(self) -> str:
        return self.description

    def value_of(self, written: object) -> str:
        if not isinstance(written, str) or re.fullmatch(self.pattern, written) is None:
            raise refusal(self.allowed)
        return written

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^(?:{self.pattern})$", "description": self.allowed}


@dataclass(frozen=True, slots=True)
class Items:
    """Annotation for a list with at least `minimum` items. The list is converted to a tuple."""

    minimum: int = 0

    def __get_pydantic_core_schema__(
        self, source: Any, handler: "GetCoreSchemaHandler"
    ) -> "core_schema.CoreSchema":
        # TOML has lists; in strict mode only a tuple would be accepted.
        schema = cast("core_schema.TupleSchema", handler(source))
        schema["strict"] = False
        schema["min_length"] = self.minimum
        return schema
