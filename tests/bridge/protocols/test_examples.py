"""The examples in docs/protocols.md work when they are copied, and each protocol has one."""

import re
from pathlib import Path

import pytest
from firmware_bridge.protocols.table import PROTOCOLS

from gateway.configuration import load

PAGE = Path(__file__).resolve().parents[3] / "docs" / "protocols.md"
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_accepted(example: str, tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(example)
    (port,) = load(file, {}, {}, PROTOCOLS).serial
    assert type(port.protocol) is PROTOCOLS[port.framing]


def test_each_protocol_has_an_example() -> None:
    framings = (re.search(r'framing = "(\w+)"', example) for example in EXAMPLES)
    assert {"board" if found is None else found[1] for found in framings} == set(PROTOCOLS)
