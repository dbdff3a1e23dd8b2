"""The configuration table `[serial.readings]`: how a serial port's readings are published.

`gateway.configuration` creates the objects from the file, and the bridge uses them.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from gateway.process.declarations.names import MeasurementName
from gateway.process.declarations.quantities import Duration, Factor, Items, Number, Text, refusal
from gateway.process.declarations.section import Section

DEFAULT_TOPIC = "sensors/{device}/{quantity}"
PLACEHOLDERS_OF_TOPIC = ("device", "quantity", "port")
PLACEHOLDERS_OF_TEMPLATE = (
    "device", "quantity", "port", "value", "unit", "time", "device_time", "boot", "sequence",
)  # fmt: skip
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")

TAGS_MAX = 16
TEMPLATE_VALUES_MAX = 64
_TEMPLATE_DEPTH_MAX = 4
_TAG_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")
_TAG_VALUE = re.compile(r"[^\x00-\x1f\x7f+#/{}]{1,64}")


@dataclass(frozen=True, kw_only=True)
class QuantityRule(Section):
    """A rule for one quantity of a port: its scaling, its unit, and when it is published."""

    descriptions: ClassVar = {
        "name": 'Name of the quantity, or of one measurement of it, like "gga/alt".',
        "scale": "Factor by which the number is multiplied.",
        "offset": "Value that is added after scaling.",
        "unit": "SenML unit of the quantity.",
        "on_change": "Publish the quantity only when its value has changed.",
        "deadband": "Smallest change that is published. With 0, there is no minimum.",
        "minimum_interval": "Minimum time between two publications of the quantity.",
    }

    name: MeasurementName
    scale: Annotated[float, Factor()] = 1
    offset: Annotated[float, Number()] = 0
    unit: Annotated[str, Text(r"[!-~]{1,32}", '1 to 32 ASCII characters, like "Cel"')] | None = None
    on_change: bool = False
    deadband: Annotated[float, Number(minimum=0)] = 0
    minimum_interval: Annotated[float, Duration(0, 86400)] = 0.0

    @property
    def changes_values(self) -> bool:
        """True if the rule changes the values or the unit of the published readings."""
        return self.scale != 1 or self.offset != 0 or self.unit is not None

    @property
    def filters(self) -> bool:
        """True if the rule can prevent some values from being published."""
        return self.on_change or self.deadband > 0 or self.minimum_interval > 0


@dataclass(frozen=True, kw_only=True)
class Readings(Section):
    """Settings for the topics and the payload format of a port's readings."""

    descriptions: ClassVar = {
        "topic": "Pattern of the topics.",
        "payload": "Format of the payloads: SenML, the plain value, or the JSON of template.",
        "template": 'JSON object for each reading, with payload = "json".',
        "retain": "Publish readings as retained messages.",
        "tags": "Constant texts that are added to each reading.",
        "quantities": "Rules for single quantities.",
    }

    topic: Annotated[
        str,
        Text(
            r"[^\x00-\x1f\x7f+#$][^\x00-\x1f\x7f+#]{0,255}",
            '1 to 256 characters without "+" and "#", like "plant/{device}/{quantity}"',
        ),
    ] = DEFAULT_TOPIC
    payload: Literal["senml", "value", "json"] = "senml"
    template: dict[str, Any] = field(default_factory=dict)
    retain: bool = False
    tags: dict[str, str] = field(default_factory=dict)
    quantities: Annotated[tuple[QuantityRule, ...], Items()] = ()

    def check(self) -> None:
        """Check the table's topic, template, tags and rules.

        For example, the topic must contain `{device}` and `{quantity}`. Raises the error from
        `quantities.refusal` if the check fails.
        """
        self._check_tags()
        found = PLACEHOLDER.findall(self.topic)
        _refuse_unknown("topic", found, (*PLACEHOLDERS_OF_TOPIC, *self.tags))
        if not {"device", "quantity"} <= {*found}:
            raise refusal('"{device}" and "{quantity}" in topic: readings would mix without')
        if bool(self.template) != (self.payload == "json"):
            raise refusal('template with payload = "json", and only there')
        texts = _texts_in(self.template, _TEMPLATE_DEPTH_MAX)
        if len(texts) > TEMPLATE_VALUES_MAX:
            raise refusal(f"a template of at most {TEMPLATE_VALUES_MAX} values")
        for text in texts:
            known = (*PLACEHOLDERS_OF_TEMPLATE, *self.tags)
            _refuse_unknown("template", PLACEHOLDER.findall(text), known)
        names = [rule.name for rule in self.quantities]
        for name in names:
            if names.count(name) > 1:
                raise refusal(f'"{name}" once in quantities, not several times')

    def _check_tags(self) -> None:
        if len(self.tags) > TAGS_MAX:
            raise refusal(f"at most {TAGS_MAX} tags")
        for name, value in self.tags.items():
            if name in PLACEHOLDERS_OF_TEMPLATE or not _TAG_NAME.fullmatch(name):
                raise refusal(
                    f'another tag than "{name}": 1 to 32 letters, digits or "_", and none of '
                    f"{', '.join(PLACEHOLDERS_OF_TEMPLATE)}"
                )
            if not _TAG_VALUE.fullmatch(value):
                raise refusal(f'1 to 64 characters without "/", "+", "#" and braces in tag {name}')

    @property
    def rules(self) -> Mapping[str, QuantityRule]:
        """A mapping from the names of quantities to their rules."""
        return {rule.name: rule for rule in self.quantities}


def _refuse_unknown(key: str, found: list[str], known: tuple[str, ...]) -> None:
    for name in found:
        if name not in known:
            raise refusal(f'one of {", ".join(known)} in place of "{{{name}}}" in {key}')


def _texts_in(value: object, depth: int) -> list[str]:
    """Return all strings in a JSON template, and its numbers and Booleans as strings.

    Raises the error from `refusal` if the template contains a value of another type, or a
    value that is nested in `depth` or more lists and objects.
    """
    if depth == 0:
        raise refusal("a template with at most 3 tables within each other")
    if isinstance(value, dict):
        return [text for each in value.values() for text in _texts_in(each, depth - 1)]
    if isinstance(value, list):
        return [text for each in value for text in _texts_in(each, depth - 1)]
    if isinstance(value, str):
        return [value]
    if isinstance(value, bool | int | float):
        if not math.isfinite(value):
            raise refusal("no nan and no inf in template: JSON has none")
        return [str(value)]
    raise refusal("texts, numbers, true, false, lists and tables in template")
