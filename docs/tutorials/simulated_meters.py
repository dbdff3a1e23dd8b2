"""Simulated meters on a pseudo-terminal, for the tutorials. Python's standard library is enough.

python3 simulated_meters.py p1 LINK         a smart meter with a P1 port: a telegram a second
python3 simulated_meters.py modbus LINK     two Modbus energy meters (Eastron SDM120), at 1 and 2

LINK is where a symbolic link to the terminal is created: the path of a `[[serial]]` table.
"""

import os
import select
import struct
import sys
import time
import tty
from pathlib import Path
from typing import Final

REQUEST_BYTES: Final = 8
"""A request for registers: address, function, first register, count, CRC."""
READ_INPUT_REGISTERS: Final = 4


def crc16(data: bytes, start: int) -> int:
    """Return the CRC-16 with the reflected polynomial 0xA001, which P1 and Modbus share."""
    crc = start
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ 0xA001 if crc & 1 else crc >> 1
    return crc


def telegram(now: float, power_kilowatts: float, energy_kilowatt_hours: float) -> bytes:
    """Return a telegram of DSMR 5 with its CRC. Its times are those of winter, UTC+1."""
    text = time.strftime("%y%m%d%H%M%SW", time.gmtime(now + 3600))
    lines = (
        "/ONC5\\simulated",
        "",
        "1-3:0.2.8(50)",
        f"0-0:1.0.0({text})",
        "0-0:96.1.1(4530303030303030303030303030303031)",
        f"1-0:1.8.1({energy_kilowatt_hours:010.3f}*kWh)",
        "1-0:2.8.1(000107.250*kWh)",
        f"1-0:1.7.0({power_kilowatts:06.3f}*kW)",
        "1-0:32.7.0(230.4*V)",
        "0-1:24.1.0(003)",
        f"0-1:24.2.1({text})(00872.123*m3)",
        "!",
    )
    body = "\r\n".join(lines).encode()
    return body + b"%04X\r\n" % crc16(body, 0)


def registers_of(address: int, seconds: float) -> dict[int, float]:
    """Return the values of a meter by their first register, two registers each."""
    power = 350.0 * address + 10.0 * (int(seconds) % 7)
    return {
        0: 230.0 + address,
        6: power / 230.0,
        12: power,
        70: 50.0,
        72: 1000.0 * address + seconds / 100,
        342: 1000.0 * address + seconds / 100,
    }


def answer(request: bytes, seconds: float) -> bytes:
    """Return the answer to a request, or nothing where no meter has the address."""
    address, function, first, count = struct.unpack_from(">BBHH", request)
    if address not in (1, 2) or crc16(request, 0xFFFF) != 0:
        return b""
    if function != READ_INPUT_REGISTERS:
        body = struct.pack(">BBB", address, function | 0x80, 1)
    else:
        memory = bytearray(2 * 400)
        for register, value in registers_of(address, seconds).items():
            struct.pack_into(">f", memory, 2 * register, value)
        content = bytes(memory[2 * first : 2 * (first + count)])
        body = struct.pack(">BBB", address, function, len(content)) + content
    return body + struct.pack("<H", crc16(body, 0xFFFF))


def send_telegrams(terminal: int) -> None:
    """Write a telegram every second."""
    started = time.time()
    while True:
        now = time.time()
        power = 0.4 + 0.01 * (int(now) % 10)
        os.write(terminal, telegram(now, power, 1234.5 + (now - started) / 3600))
        time.sleep(1)


def answer_requests(terminal: int) -> None:
    """Answer each request; bytes that do not complete one within 50 ms are dropped."""
    started = time.time()
    received = b""
    while True:
        if not select.select([terminal], [], [], 0.05)[0]:
            received = b""
            continue
        received += os.read(terminal, 256)
        if len(received) >= REQUEST_BYTES:
            os.write(terminal, answer(received[:REQUEST_BYTES], time.time() - started))
            received = b""


def main() -> None:
    """Create the terminal and its link, and simulate until Ctrl-C."""
    kinds = {"p1": send_telegrams, "modbus": answer_requests}
    if len(sys.argv) != 3 or sys.argv[1] not in kinds:
        sys.exit("usage: simulated_meters.py p1|modbus LINK")
    terminal, line = os.openpty()
    tty.setraw(line)
    link = Path(sys.argv[2])
    link.unlink(missing_ok=True)
    link.symlink_to(os.ttyname(line))
    print(f"A simulated meter is at {link}. Ctrl-C stops it.", flush=True)
    try:
        kinds[sys.argv[1]](terminal)
    except KeyboardInterrupt:
        link.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
