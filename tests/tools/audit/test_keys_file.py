"""The file for `--keys` on the device, which has the same lines as for the Spark job."""

from pathlib import Path

import pytest

from cloud_jobs.ingest.keys_file import load_keys as load_for_spark
from gateway.tools.audit import keys_file
from gateway.tools.audit.keys_file import KeysFileError, load_keys

KEY, OTHER = "aa" * 32, "bb" * 32


def loaded(tmp_path: Path, text: str) -> dict[str, list[str]]:
    path = tmp_path / "keys"
    path.write_text(text)
    return load_keys(path)


def test_keys_are_read_by_gateway_as_the_spark_job_reads_them(tmp_path: Path) -> None:
    text = f"# hall\ngw-1 {KEY} prefix=hall/gw-1 old card\n\n gw-1 {OTHER}\ngw-2 {OTHER} x\n"
    found = loaded(tmp_path, text)
    assert found == {"gw-1": [KEY, OTHER], "gw-2": [OTHER]}
    theirs = load_for_spark(tmp_path / "keys")
    assert {gateway: list(pin.public_keys) for gateway, pin in theirs.items()} == found


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("gw-1", "line 2: no public key behind gw-1: write what `oncegate id --public-key` prints"),
        (f"gw-1 {KEY.upper()}", "no public key behind gw-1"),
        (f"GW {KEY}", "line 2: 'GW' is no gateway's id"),
    ],
)
def test_a_mistake_is_refused_with_its_line(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(KeysFileError, match=message):
        loaded(tmp_path, f"gw-1 {OTHER}\n{line}\n")


def test_a_file_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys_file, "KEYS_FILE_BYTES_MAX", 100)
    with pytest.raises(KeysFileError, match="larger than 100 bytes"):
        loaded(tmp_path, f"gw-1 {KEY}\ngw-1 {OTHER}\n")
