"""Base classes of the models, types for numbers and times, and the handling of invalid values.

If a report contains values from sensors (``FromSensors``), each field is validated separately. An
invalid field becomes null and is listed in ``unreadable``. Any other report is rejected if one of
its fields is invalid.
"""

from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)

from api import limits

Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
Integer = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
FiniteNumber = Annotated[float, Field(allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0)]
# Up to the last millisecond of the year 9999, the last year that Python's datetime supports.
Milliseconds = Annotated[int, Field(ge=0, le=253_402_300_799_999)]
Password = Annotated[str, Field(min_length=1, max_length=limits.PASSWORD_BYTES_MAX)]


class Reported(BaseModel):
    """Base class of all reports: immutable, with strict types and only finite numbers."""

    model_config = ConfigDict(
        strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class FromSensors(Reported):
    """Base class of reports with values from sensors. Any value may be invalid.

    Every field has a default value, which replaces an invalid value.
    """

    unreadable: list[str] = []
    """Names of reported fields with an invalid value: an impossible time or number, or a wrong
    type.
    """

    @model_validator(mode="wrap")
    @classmethod
    def _without_the_unreadable(cls, report: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(report, dict):
            report = {name: report[name] for name in cls.model_fields if name in report}
            report.pop("unreadable", None)
        try:
            return handler(report)
        except ValidationError as error:
            if not isinstance(report, dict):
                return handler({"unreadable": ["all"]})
            names = {str(fault["loc"][0]) for fault in error.errors(include_url=False)}
            rest = {name: value for name, value in report.items() if name not in names}
            return handler({**rest, "unreadable": sorted(names)})
