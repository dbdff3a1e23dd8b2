from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gateway.uploader.settings import SettingsError
from tests.uploader.stage import settings_in


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("segment_bytes_max", 999_999),
        ("segment_bytes_max", 8_000_001),
        ("seal_after_seconds", 0),
        ("poll_seconds", -1),
        ("sent_bytes_keep", -1),
        ("free_bytes_min", -1),
    ],
)
def test_a_setting_out_of_its_range_is_refused_by_its_name(
    name: str, value: int, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=f"^{name} is {value}: set "):
        replace(settings_in(tmp_path), **{name: value})  # type: ignore[arg-type]
