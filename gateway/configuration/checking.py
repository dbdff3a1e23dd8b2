"""Validates the configuration.

Pydantic checks each value. The section classes check combinations of values.

The pydantic models are generated from the section classes, so each key is defined only once. No
other module of this package imports pydantic, so a process that only uses a configuration does not
load it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, Field, replace
from types import UnionType
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin

import pydantic
from pydantic import (
    BaseModel,
    ConfigDict,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    create_model,
    model_validator,
)

from gateway.configuration.conflicts import conflicts
from gateway.configuration.problems import ConfigurationError, Location, Written, lines_of
from gateway.configuration.serial_port import Serial
from gateway.configuration.whole import Configuration
from gateway.process.declarations.protocol import Protocols, ProtocolSettings
from gateway.process.declarations.quantities import refusal
from gateway.process.declarations.section import Section, fields_of, keys_of

NO_PROTOCOLS: Protocols = {}
"""Value of `protocols` for programs that do not accept `[[serial]]`."""


class _Model(BaseModel):
    """Base class of the pydantic models.

    Unknown keys are rejected, and no value is converted implicitly.
    """

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
    tables: Mapping[str, Any],
    source_of: Callable[[Location], str],
    protocols: Protocols = NO_PROTOCOLS,
    *,
    unknown: Collection[str] = (),
    tenant: str | None = None,
) -> Configuration:
    """Return the configuration described by `tables`, the contents of a parsed TOML file.

    Args:
        tables: the sections, keyed by name, as in the file.
        source_of: function that returns where a key was set, such as the file's path, for messages.
        protocols: the allowed values of `framing`, each with the keys that it adds to the table.
        unknown: sections that could not be read completely. Their values are not checked further.
        tenant: the tenant of this configuration, or None for the gateway itself.

    Raises:
        ConfigurationError: the configuration is invalid. The exception has one line for each
            mistake.
    """
    assert protocols or not tables.get("serial"), (
        "a program that accepts [[serial]] gives protocols"
    )
    lines: list[str] = []
    wrong = {*unknown}
    try:
        made = _made_of(tables, protocols)
    except ValidationError as error:
        lines = lines_of(error, Written(tables, source_of, protocols))
        places = [details["loc"] for details in error.errors()]
        wrong |= {str(place[0]) for place in places if place}
        made = _made_of(_without(tables, places), protocols)
    made = replace(made, tenant=tenant)
    lines += [f"{source_of(())}: use {fix}" for fix in conflicts(made, wrong)]
    if lines:
        raise ConfigurationError(lines)
    return made


def _made_of(tables: Mapping[str, Any], protocols: Protocols) -> Configuration:
    made = _section_of(_CONFIGURATION.model_validate(tables, context=protocols))
    assert isinstance(made, Configuration)
    return made


def _without(tables: Mapping[str, Any], places: Sequence[Location]) -> dict[str, Any]:
    """Return a copy of `tables` without the tables that contain mistakes.

    `places` contains the locations of all mistakes. From a list of tables, only the tables with a
    mistake are removed.
    """
    wrong = {tuple(place[:2]) for place in places}
    right: dict[str, Any] = {}
    for name, table in tables.items():
        if isinstance(table, list) and (name,) not in wrong:
            kept = [each for number, each in enumerate(table) if (name, number) not in wrong]
            if kept:
                right[name] = kept
        elif not any(place[:1] == (name,) for place in wrong):
            right[name] = table
    return right


def _model_of(section: type[Section]) -> type[_Model]:
    types = {
        each.name: (_checked_type(each.type), _default_of(each)) for each in fields_of(section)
    }
    if section is Serial:
        # In this order: the protocol is validated together with the port's own keys.
        types["framing"] = (Annotated[str, PlainValidator(_framing_of)], types["framing"][1])
        types["protocol"] = (Annotated[Any, PlainValidator(_protocol_of)], ...)
    model = create_model(section.__name__, __base__=_Model, **types)  # type: ignore[call-overload]
    model.section = section
    return model  # type: ignore[no-any-return]


def _checked_type(written: Any) -> Any:
    """Return a key's type, with each section class in it replaced by its pydantic model."""
    if isinstance(written, type) and issubclass(written, Section):
        return _model_of(written)
    if get_origin(written) is Annotated:
        inner, *notes = get_args(written)
        return Annotated[(_checked_type(inner), *notes)]
    if get_origin(written) in (Union, UnionType):
        return Union[tuple(_checked_type(each) for each in get_args(written))]  # noqa: UP007
    if get_origin(written) is tuple:
        return tuple[tuple(_checked_type(each) for each in get_args(written))]  # type: ignore[misc]
    return written


def _default_of(key: Field[Any]) -> Any:
    if key.default_factory is not MISSING:
        return pydantic.Field(default_factory=key.default_factory)
    return ... if key.default is MISSING else key.default


def _framing_of(written: object, info: ValidationInfo) -> str:
    protocols = _protocols_in(info)
    if not isinstance(written, str) or written not in protocols:
        *others, last = (f'"{name}"' for name in protocols)
        raise refusal(f"{', '.join(others)} or {last}" if others else last)
    return written


def _protocol_of(written: Mapping[str, Any], info: ValidationInfo) -> ProtocolSettings | None:
    """Return the protocol's settings from the keys in `written`.

    Return None if the key `framing` is invalid. That mistake is reported separately.
    """
    protocols, port = _protocols_in(info), info.data
    if "framing" not in port:
        return None
    model = _model_of(protocols[port["framing"]]).model_validate(written)
    settings = _section_of(model)
    assert isinstance(settings, ProtocolSettings)
    if settings.device_prefix is None:
        names = settings.device_names or (port.get("device") or port.get("name", ""),)
        _refuse_taken(names, protocols)
    return settings


def _refuse_taken(names: tuple[str, ...], protocols: Protocols) -> None:
    """Reject device names with a prefix that another protocol reserves for its own devices.

    Otherwise readings of different devices could have the same name.
    """
    for framing, protocol in protocols.items():
        prefix = protocol.device_prefix
        if prefix is not None and any(name.startswith(prefix) for name in names):
            raise refusal(
                f'another device: names that begin with "{prefix}" belong to framing = "{framing}"'
            )


def _protocols_in(info: ValidationInfo) -> Protocols:
    protocols: Protocols = info.context or NO_PROTOCOLS
    return protocols


def _section_of(model: _Model) -> Section:
    section = type(model).section
    values = {key: _value_of(getattr(model, key)) for key in type(model).model_fields}
    return section(given=frozenset(model.model_fields_set) & {*keys_of(section)}, **values)


def _value_of(value: Any) -> Any:
    if isinstance(value, _Model):
        return _section_of(value)
    if isinstance(value, tuple):
        return tuple(_value_of(each) for each in value)
    return value


_CONFIGURATION = _model_of(Configuration)
