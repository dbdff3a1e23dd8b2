"""The boot messages and crash dumps of boards count as damage among `key=value` pairs."""

import pytest
from firmware_bridge.protocols.key_value import KeyValueLines


@pytest.mark.parametrize(
    "line",
    [
        "configsip: 0, SPIWP:0xee",
        "SPIWP:0xee",
        "clk_drv:0x00,q_drv:0x00,d_drv:0x00,cs0_drv:0x00,hd_drv:0x00,wp_drv:0x00",
        "mode:DIO, clock div:2",
        "load:0x3fff0030,len:1184",
        "ESP-ROM:esp32s3-20210327",
        "rst:0x1 (POWERON),boot:0x8 (SPI_FAST_FLASH_BOOT)",
        "PC      : 0x400d1234  PS      : 0x00060730  A0      : 0x800d5678  A1      : 0x3ffb1f90",
        "EXCCAUSE: 0x0000001c  EXCVADDR: 0x00000000  LBEG    : 0x4008a7b5",
        "LCOUNT  : 0xffffffff",
        "MEPC    : 0x42001234  RA      : 0x42005678  SP      : 0x3fc8f1a0  GP      : 0x3fc8b000",
        "Backtrace: 0x400d1234:0x3ffb1f90 0x400d5678:0x3ffb1fb0",
        "ELF file SHA256: 0000000000000000",
        "epc1=0x40201234 epc2=0x00000000 epc3=0x00000000 excvaddr=0x00000000 depc=0x00000000",
        "sp: 3ffffdc0 end: 3fffffc0 offset: 0190",
        "ctx: cont",
        "3fffff50:  3ffe8500 00000001 3ffee5d8 402011f5",
    ],
)
def test_what_an_esp_prints_when_it_starts_or_crashes_is_damage(line: str) -> None:
    decoder = KeyValueLines(value_separator=":").decoder()
    assert decoder.feed(f"{line}\r\n".encode()) == []
    assert decoder.tally.damaged == {"syntax": 1}


@pytest.mark.parametrize(
    "line", ["id:0x1A2B3C4D T:21.5", "mode:heat T:21.5", "load:12.5 len:3", "sp:21 PC:4"]
)
def test_quantities_named_like_those_of_a_boot_text_are_read(line: str) -> None:
    (frame,) = KeyValueLines(value_separator=":").decoder().feed(f"{line}\n".encode())
    assert len(frame.quantities) == 2
