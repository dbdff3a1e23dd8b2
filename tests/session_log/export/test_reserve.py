from __future__ import annotations

from pathlib import Path

import pytest

from gateway.session_log.export import reserve as module
from gateway.session_log.export.reserve import Reserve
from gateway.session_log.settings import RESERVE_BYTES_MAX, RESERVE_STEP_BYTES


def test_the_reserve_is_given_up_step_by_step_and_taken_again(tmp_path: Path) -> None:
    reserve, path = Reserve(tmp_path), tmp_path / "reserve"
    assert not reserve.give()
    reserve.make()
    whole = path.stat().st_blocks
    assert path.stat().st_size == RESERVE_BYTES_MAX
    assert whole * 512 >= RESERVE_BYTES_MAX
    assert path.stat().st_mode & 0o777 == 0o640
    steps = 0
    while reserve.give():
        steps += 1
        assert path.stat().st_size == RESERVE_BYTES_MAX - steps * RESERVE_STEP_BYTES
    assert steps == RESERVE_BYTES_MAX // RESERVE_STEP_BYTES
    reserve.make()
    assert path.stat().st_blocks == whole


def test_on_a_disk_that_is_nearly_full_no_reserve_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve = Reserve(tmp_path)
    assert not reserve.is_tight()
    # As if a share of the disk were all of it: then no disk has enough free.
    monkeypatch.setattr(module, "RESERVE_SHARE", 1)
    assert reserve.is_tight()
    reserve.make()
    assert not (tmp_path / "reserve").exists()
