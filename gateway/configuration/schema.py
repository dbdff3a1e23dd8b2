"""The JSON Schema of the configuration file (draft 2020-12), for editors.

The schema is generated from the sections, so each key is defined once. It accepts every file that
the loader accepts, and rejects mistakes within one table. `oncegate check-config` also checks
ranges of durations and sizes, and rules that concern several sections.
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from gateway.configuration.description import written_of
from gateway.configuration.key_descriptions import KEY_DESCRIPTIONS
from gateway.configuration.listener import Listener
from gateway.configuration.serial_port import DEFAULT_FRAMING, Serial
from gateway.configuration.tenants import INHERITED, NAME_PATTERN, OWN, TENANTS_MAX
from gateway.configuration.whole import Configuration
from gateway.process.declarations.protocol import Protocols
from gateway.process.declarations.quantities import Items, Quantity
from gateway.process.declarations.section import Section, fields_of, keys_of

Schema = dict[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_PLAIN_TYPES: Final[Mapping[Any, str]] = {bool: "boolean", int: "integer", str: "string"}


def _where(key: str, value: str, then: Schema, otherwise: Schema) -> Schema:
    """Return a schema that applies `then` if `key` has `value`, and applies `otherwise` if not."""
    condition = {"properties": {key: {"const": value}}, "required": [key]}
    return {"if": condition, "then": then, "else": otherwise}


def _has(key: str) -> Schema:
    return {"required": [key]}


def _has_not(key: str) -> Schema:
    return {"properties": {key: False}}


# The rules of `Section.check` that concern keys of one table.
_RULES: Final[Mapping[type[Section], list[Schema]]] = {
    Listener: [
        _where("protocol", "unix", _has("path"), _has_not("path")),
        _where("protocol", "unix", _has_not("tls"), {}),
    ],
    Serial: [
        {"oneOf": [_has("path"), _has("usb"), _has("address")]},
        {"not": {"required": ["baud_rate", "line"]}},
    ],
}


def schema(protocols: Protocols) -> Schema:
    """Return the schema of a whole file. `protocols` contains the allowed values of `framing`."""
    properties = {key.name: _type_schema(key.type, key.name) for key in fields_of(Configuration)}
    _add_protocols(properties["serial"]["items"], protocols)
    properties["tenants"] = _tenants_schema(properties)
    return {
        "$schema": DIALECT,
        "title": "gateway.toml, the configuration of Oncegate",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def _tenants_schema(sections: Mapping[str, Schema]) -> Schema:
    """Return the schema of `[tenants.NAME]`, which allows only some of the sections."""
    tenant = {
        "type": "object",
        "properties": {name: sections[name] for name in (*OWN, *INHERITED)},
        "required": ["listeners"],
        "additionalProperties": False,
    }
    return {
        "description": "Isolated projects on this gateway, each with a broker of its own.",
        "type": "object",
        "patternProperties": {f"^{NAME_PATTERN}$": tenant},
        "additionalProperties": False,
        "maxProperties": TENANTS_MAX,
    }


def _add_protocols(serial: Schema, protocols: Protocols) -> None:
    """Add each protocol's keys to the schema of `[[serial]]`.

    The value of `framing` determines which of these keys are allowed.
    """
    by_key: dict[str, list[Schema]] = {}
    for protocol in protocols.values():
        for key, made in _keys_of(protocol, protocol.descriptions).items():
            variants = by_key.setdefault(key, [])
            if made not in variants:
                variants.append(made)
    serial["properties"]["framing"]["enum"] = list(protocols)
    for key, variants in by_key.items():
        serial["properties"][key] = variants[0] if len(variants) == 1 else {"anyOf": variants}
    for framing, protocol in protocols.items():
        foreign = [key for key in by_key if key not in keys_of(protocol)]
        holds: Schema = {"properties": dict.fromkeys(foreign, False)}
        if required := _required_of(protocol):
            holds["required"] = required
        condition: Schema = {"properties": {"framing": {"const": framing}}}
        if framing != DEFAULT_FRAMING:
            condition["required"] = ["framing"]
        serial["allOf"].append({"if": condition, "then": holds})


def _section_schema(section: type[Section], name: str) -> Schema:
    descriptions = section.descriptions or KEY_DESCRIPTIONS[name]
    made: Schema = {
        "description": " ".join((section.__doc__ or "").split()),
        "type": "object",
        "properties": _keys_of(section, descriptions),
        "additionalProperties": False,
    }
    if required := _required_of(section):
        made["required"] = required
    if section in _RULES:
        made["allOf"] = list(_RULES[section])
    return made


def _keys_of(section: type[Section], descriptions: Mapping[str, str]) -> Schema:
    return {key.name: _key_schema(key, descriptions[key.name]) for key in fields_of(section)}


def _required_of(section: type[Section]) -> list[str]:
    return [key.name for key in fields_of(section) if _default_of(key) is MISSING]


def _key_schema(key: Field[Any], description: str) -> Schema:
    made = _type_schema(key.type, key.name)
    allowed = made.pop("description", None)
    made["description"] = f"{description} Use {allowed}." if allowed else description
    default = _default_of(key)
    written = None if default is MISSING else written_of(key, default)
    if written is not None:
        made["default"] = written
    return made


def _default_of(key: Field[Any]) -> Any:
    return key.default if key.default_factory is MISSING else key.default_factory()


def _type_schema(written: Any, name: str) -> Schema:
    """Return the schema of a key or section with the type `written`.

    The schema of an optional type does not allow null, because TOML has no null.
    """
    origin, arguments = get_origin(written), get_args(written)
    if isinstance(written, type) and issubclass(written, Section):
        return _section_schema(written, name)
    if written in _PLAIN_TYPES:
        return {"type": _PLAIN_TYPES[written]}
    if origin is Literal:
        return {"type": "string", "enum": list(arguments)}
    if origin in (Union, UnionType):
        (only,) = (each for each in arguments if each is not NoneType)
        return _type_schema(only, name)
    if origin is dict:
        value_schema = _PLAIN_TYPES.get(arguments[1])
        return {"type": "object"} | (
            {"additionalProperties": {"type": value_schema}} if value_schema else {}
        )
    assert origin is Annotated, f"{name}: no schema is known for {written}"
    return _annotated_schema(arguments, name)


def _annotated_schema(arguments: tuple[Any, ...], name: str) -> Schema:
    inner, note = arguments
    if isinstance(note, Quantity):
        return note.schema()
    assert isinstance(note, Items)
    item = _type_schema(get_args(inner)[0], name)
    return {"type": "array", "items": item} | ({"minItems": note.minimum} if note.minimum else {})
