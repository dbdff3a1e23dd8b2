"""Settings of a Modbus device: its address, and the quantities in its registers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from firmware_bridge.protocols.declared_field import ByteOrder
from firmware_bridge.protocols.modbus_library import NAME_PATTERN, completed_device
from firmware_bridge.protocols.modbus_register import Register
from firmware_bridge.protocols.no_value import NoValue, NoValues, no_values_for
from gateway.process.declarations.names import Name
from gateway.process.declarations.quantities import Duration, Items, Text, Whole, refusal
from gateway.process.declarations.section import Section

# The standard allows 1 to 247 and reserves the rest; some sensors and gateways use 248 to 255. On a
# serial line 0 is the broadcast address, to which no device responds; with Modbus TCP 0 is a unit.
ADDRESS_MAX = 255
# A response of at most 256 bytes has room for this many registers.
REGISTERS_PER_REQUEST_MAX = 125


@dataclass(frozen=True, kw_only=True)
class Device(Section):
    """Settings of a Modbus device: its quantities, and the interval at which they are polled."""

    descriptions: ClassVar = {
        "name": "Name of the device in topics.",
        "address": "Address of the device on the line, or its unit identifier with Modbus TCP.",
        "device": "Name of a described device, whose description lists the registers.",
        "quantities": "Quantities to poll from the described device. Default: all.",
        "registers": "Quantities of the device, in addition to those in its description.",
        "poll_interval": "Time between two readouts. Default: the port's poll_interval.",
        "registers_per_request": "Registers in one response, at most. By default they are learned.",
        "word_order": "Order of the registers in a number that spans several. Default: the port's.",
        "byte_order": "Order of the two bytes in a register. Default: the port's.",
        "no_value": 'Numbers in registers that mean "no value".',
    }

    name: Name
    address: Annotated[int, Whole(0, ADDRESS_MAX)]
    device: Annotated[str, Text(NAME_PATTERN, 'a name like "eastron.sdm630"')] | None = None
    quantities: Annotated[tuple[Name, ...], Items(1)] | None = None
    registers: Annotated[tuple[Register, ...], Items()] = ()
    poll_interval: Annotated[float | None, Duration(0.01, 86400)] = None
    registers_per_request: Annotated[int | None, Whole(1, REGISTERS_PER_REQUEST_MAX)] = None
    word_order: ByteOrder | None = None
    byte_order: ByteOrder | None = None
    no_value: Annotated[NoValues | None, NoValue()] = None

    @classmethod
    def completed(cls, written: Mapping[str, Any]) -> Mapping[str, Any]:
        """Complete a device's configuration table (`written`) with the description of its model.

        The table's key `device` names the description. Without this key, return the table
        unchanged.
        """
        return completed_device(written)

    def check(self) -> None:
        """Reject settings of a device that are incomplete or contradictory.

        A device needs at least one register. Two quantities must not have the same name, and each
        quantity must fit in one request. `quantities` selects from the description of a device
        model, so it is only allowed with `device`, the name of a description.
        """
        if self.quantities is not None and self.device is None:
            raise refusal("device with quantities: they are chosen from its description")
        if not self.registers:
            raise refusal(
                'registers, or device, like "eastron.sdm630" (`oncegate serial devices` lists them)'
            )
        names = [each.name for each in self.registers]
        for name in names:
            if names.count(name) > 1:
                raise refusal(f"name {name} once in registers, not several times")
        most = self.registers_per_request
        for each in self.registers:
            if most is not None and not each.is_bit and each.end - each.first > most:
                raise refusal(
                    f'registers_per_request of at least {each.end - each.first}: "{each.name}" '
                    f"({each.type}) needs that many"
                )

    def resolved(self, *, word_order: ByteOrder, byte_order: ByteOrder) -> "Device":
        """Return a copy of the device with complete settings for all registers.

        Settings that a register lacks are taken from the device. Settings that the device lacks too
        are taken from the port.
        """
        return replace(
            self,
            registers=tuple(
                each
                if each.is_bit
                else replace(
                    each,
                    word_order=each.word_order or self.word_order or word_order,
                    byte_order=each.byte_order or self.byte_order or byte_order,
                    no_value=no_values_for(self.no_value or (), each.type)
                    if each.no_value is None
                    else each.no_value,
                )
                for each in self.registers
            ),
        )
