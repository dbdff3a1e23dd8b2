"""The file of `--keys`: its valid lines, and one error line per mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloud_jobs.errors import KeysFileError
from cloud_jobs.ingest.keys_file import Pinned, load_keys
from cloud_jobs.limits import KEYS_PER_GATEWAY_MAX

KEY, OTHER = "aa" * 32, "bb" * 32


def loaded(tmp_path: Path, text: str) -> dict[str, Pinned]:
    path = tmp_path / "keys"
    path.write_text(text)
    return load_keys(path)


def test_a_gateway_has_its_keys_in_order_and_one_prefix(tmp_path: Path) -> None:
    text = f"""
    # the hall
    gw-1 {KEY} prefix=/hall/gw-1/ the old card
    gw-1 {OTHER} its new card

    gw-2 {OTHER}
    """
    assert loaded(tmp_path, text) == {
        "gw-1": Pinned((KEY, OTHER), "hall/gw-1"),
        "gw-2": Pinned((OTHER,)),
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("gw-1", "line 2: '' is no public key: write what `oncegate id --public-key` prints"),
        (f"gw-1 {KEY[1:]}", "is no public key"),
        (f"gw-1 {KEY.upper()}", "is no public key"),
        (f"GW {KEY}", "line 2: 'GW' is no gateway's id"),
        (f"gw-1 {KEY} prefix=b", "gw-1 has the prefix a already"),
    ],
)
def test_a_mistake_is_refused_with_its_line(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(KeysFileError, match=message):
        loaded(tmp_path, f"gw-1 {OTHER} prefix=a\n{line}\n")


def test_keys_of_a_gateway_are_bounded(tmp_path: Path) -> None:
    lines = [f"gw-1 {number:064x}\n" for number in range(KEYS_PER_GATEWAY_MAX + 1)]
    assert len(loaded(tmp_path, "".join(lines[1:]))["gw-1"].public_keys) == KEYS_PER_GATEWAY_MAX
    with pytest.raises(KeysFileError, match=f"line {len(lines)}: gw-1 has 16 keys already"):
        loaded(tmp_path, "".join(lines))


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(KeysFileError, match=r"the keys file cannot be read: .*nowhere"):
        load_keys(tmp_path / "nowhere")


def test_a_file_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloud_jobs.ingest.keys_file.KEYS_FILE_BYTES_MAX", 100)
    with pytest.raises(KeysFileError, match="larger than 100 bytes: no keys file"):
        loaded(tmp_path, f"gw-1 {KEY}\ngw-1 {OTHER}\n")
