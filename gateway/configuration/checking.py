"""Makes the sections of what a person wrote: pydantic checks the tables, each section what its
values mean together.

The models are made of the sections, so that a key stands in one place. No other module of the room
imports pydantic, for whoever only uses a configuration needs none of it.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field
from typing import Annotated, Any, ClassVar, get_args, get_origin

import pydantic
from pydantic import BaseModel, ConfigDict, ValidationError, create_model, model_validator

from gateway.configuration.problems import ConfigurationError, Location, lines_of
from gateway.configuration.sections import Configuration, Section, fields_of, keys_of


class _Model(BaseModel):
    """Unknown keys are refused, nothing is converted behind one's back."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    section: ClassVar[type[Section]]

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, written: Any) -> Any:
        return cls.section.completed(written) if isinstance(written, Mapping) else written

    @model_validator(mode="after")
    def _checked(self) -> "_Model":
        _section_of(self).check()
        return self


def configuration_of(
    tables: Mapping[str, Any], source_of: Callable[[Location], str]
) -> Configuration:
    """The configuration that `tables` (TOML's) say; `source_of` names where a value came from.

    Raises:
        ConfigurationError: with a line for each mistake.
    """
    try:
        model = _CONFIGURATION.model_validate(tables)
    except ValidationError as error:
        raise ConfigurationError(lines_of(error, source_of)) from None
    made = _section_of(model)
    assert isinstance(made, Configuration)
    return made


def _model_of(section: type[Section]) -> type[_Model]:
    types = {
        each.name: (_checked_type(each.type), _default_of(each)) for each in fields_of(section)
    }
    model = create_model(section.__name__, __base__=_Model, **types)  # type: ignore[call-overload]
    model.section = section
    return model  # type: ignore[no-any-return]


def _checked_type(written: Any) -> Any:
    """A key's type with the models in the sections' places."""
    if isinstance(written, type) and issubclass(written, Section):
        return _model_of(written)
    if get_origin(written) is Annotated:
        inner, *notes = get_args(written)
        return Annotated[(_checked_type(inner), *notes)]
    if get_origin(written) is tuple:
        return tuple[tuple(_checked_type(each) for each in get_args(written))]  # type: ignore[misc]
    return written


def _default_of(key: Field[Any]) -> Any:
    if key.default_factory is not MISSING:
        return pydantic.Field(default_factory=key.default_factory)
    return ... if key.default is MISSING else key.default


def _section_of(model: _Model) -> Section:
    section = type(model).section
    values = {key: _value_of(getattr(model, key)) for key in keys_of(section)}
    return section(given=frozenset(model.model_fields_set), **values)


def _value_of(value: Any) -> Any:
    if isinstance(value, _Model):
        return _section_of(value)
    if isinstance(value, tuple):
        return tuple(_value_of(each) for each in value)
    return value


_CONFIGURATION = _model_of(Configuration)
