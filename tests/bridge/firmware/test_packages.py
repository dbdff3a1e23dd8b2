"""The parts of the C library that Arduino, the Pico SDK and Zephyr are given."""

import subprocess
from pathlib import Path

import pytest

from tests.bridge.firmware.compiled import FIRMWARE, WARNINGS

CORE = Path("/usr/share/arduino/hardware/arduino/avr")
SOURCES = sorted(path.name for path in (FIRMWARE / "src").glob("*.c"))


@pytest.mark.parametrize("name", ["CMakeLists.txt", "zephyr/CMakeLists.txt"])
def test_each_build_lists_every_source(name: str) -> None:
    text = (FIRMWARE / name).read_text()
    assert [source for source in SOURCES if f"src/{source}\n" not in text] == []
    assert text.count(".c\n") == len(SOURCES)


def test_the_sketch_compiles_against_the_arduino_core_for_the_uno(tmp_path: Path) -> None:
    [sketch] = FIRMWARE.glob("examples/*/*.ino")
    source = tmp_path / "sketch.cpp"
    source.write_text(f"#include <Arduino.h>\n{sketch.read_text()}")
    folders = [CORE / "cores/arduino", CORE / "variants/standard", CORE / "libraries/EEPROM/src"]
    includes = [f"-I{folder}" for folder in folders]
    options = (
        "-mmcu=atmega328p -DF_CPU=16000000L -DARDUINO=10807 -std=gnu++11 -Os -Wall -Wextra -Werror"
    )
    command = ["avr-g++", *options.split(), *includes, f"-I{FIRMWARE / 'src'}", "-fsyntax-only"]
    subprocess.run([*command, str(source)], check=True)


@pytest.mark.parametrize("frame_bytes_max", [64, 1016])
def test_each_size_of_frames_compiles_without_a_warning(frame_bytes_max: int) -> None:
    sources = [str(FIRMWARE / "src" / name) for name in SOURCES]
    size = f"-DONCEGATE_FRAME_BYTES_MAX={frame_bytes_max}"
    subprocess.run(["cc", *WARNINGS, "-fsyntax-only", size, *sources], check=True)
