"""Every mistake is one line with the source, the key, the value and the allowed values."""

from pathlib import Path

import pytest
from firmware_bridge.protocols.table import PROTOCOLS

from gateway.configuration import ConfigurationError, load
from tests.configuration.refused import REFUSED


@pytest.mark.parametrize(("content", "what", "allowed"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_mistake_in_the_file_is_one_line(
    tmp_path: Path, content: str, what: str, allowed: str
) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(content)
    with pytest.raises(ConfigurationError) as refusal:
        load(file, {}, {}, PROTOCOLS)
    (line,) = refusal.value.problems
    assert line.startswith(f"{file}: ")
    assert what in line
    assert allowed in line
    assert "\n" not in line


def test_all_mistakes_are_reported_together(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text("[mqtt]\nmax_inflight = -1\nx = 1\n[api]\nport = 'y'\n")
    with pytest.raises(ConfigurationError) as refusal:
        load(file, {}, {}, PROTOCOLS)
    assert len(refusal.value.problems) == 3


def test_what_may_be_a_secret_is_not_repeated() -> None:
    with pytest.raises(ConfigurationError) as refusal:
        load(None, {"ONCEGATE_UPLOAD_TARGET": "ftp://user:hunter2@host/"}, {}, None)
    assert "hunter2" not in str(refusal.value)
