"""The archive of a backup: whole, cut at each place, changed in each byte, and forged."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from gateway.tools.backup import archive as module
from gateway.tools.backup.archive import ArchiveReader, write_archive
from gateway.tools.backup.manifest import MANIFEST, BackupRefused
from tests.tools.backup.gateway_files import FILES, backup_of, made_in, manifest_with, sources_of


@pytest.fixture
def backup(tmp_path: Path) -> bytes:
    return backup_of(made_in(tmp_path))


def read(content: bytes) -> dict[str, bytes]:
    reader = ArchiveReader(io.BytesIO(content))
    return {member.name: b"".join(chunks) for member, chunks in reader.members()}


def test_what_was_written_is_read(backup: bytes) -> None:
    found = read(backup)
    expected = {
        name.replace("etc/", "configuration/").replace("var/", "data/"): text.encode()
        for name, text in FILES.items()
    }
    assert found == expected


def test_the_archive_is_a_tar_file_for_other_programs(backup: bytes) -> None:
    with tarfile.open(fileobj=io.BytesIO(backup), mode="r:gz") as opened:
        assert opened.getnames()[0] == MANIFEST
        assert set(opened.getnames()[1:]) == set(read(backup))
        assert {each.mode for each in opened} == {0o600}


def test_an_archive_that_is_cut_off_is_refused_wherever_it_ends(backup: bytes) -> None:
    for end in [*range(0, len(backup), 7), len(backup) - 1]:
        with pytest.raises(BackupRefused):
            read(backup[:end])


def test_an_archive_with_a_changed_byte_is_refused_or_the_same(backup: bytes) -> None:
    expected = read(backup)
    plain = gzip.decompress(backup)
    for at in range(0, len(plain), 5):
        forged = bytearray(plain)
        forged[at] ^= 1
        try:
            assert read(gzip.compress(bytes(forged), 0)) == expected
        except BackupRefused:
            continue
        # A member of the manifest that is only shown: the text of a path, a time or a version.
        assert at < plain.index(b"configuration/gateway.toml\0")


@pytest.mark.parametrize(
    "content",
    [b"", b"x", bytes(2048), gzip.compress(b"", mtime=0), gzip.compress(bytes(2048), mtime=0)],
)
def test_another_file_is_no_backup(content: bytes) -> None:
    with pytest.raises(BackupRefused):
        read(content)


def forged_with(plain: bytes, header: tarfile.TarInfo) -> bytes:
    """The archive with another header in the place of that of the first file."""
    at = plain.index(b"configuration/gateway.toml\0")
    block = header.tobuf(tarfile.GNU_FORMAT)
    return gzip.compress(plain[:at] + block + plain[at + len(block) :])


@pytest.mark.parametrize(
    ("kind", "link"),
    [
        (tarfile.SYMTYPE, "/etc/shadow"),
        (tarfile.LNKTYPE, "/etc/shadow"),
        (tarfile.DIRTYPE, ""),
        (tarfile.CHRTYPE, ""),
        (tarfile.FIFOTYPE, ""),
    ],
)
def test_links_folders_and_devices_are_refused(backup: bytes, kind: bytes, link: str) -> None:
    header = tarfile.TarInfo("configuration/gateway.toml")
    header.type, header.linkname, header.mode = kind, link, 0o600
    with pytest.raises(BackupRefused, match="is not where its manifest has it"):
        read(forged_with(gzip.decompress(backup), header))


def test_another_name_or_size_than_the_manifest_s_is_refused(backup: bytes) -> None:
    plain = gzip.decompress(backup)
    for name, size in (("configuration/other", 41), ("configuration/gateway.toml", 1 << 40)):
        header = tarfile.TarInfo(name)
        header.size, header.mode = size, 0o600
        with pytest.raises(BackupRefused, match="is not where its manifest has it"):
            read(forged_with(plain, header))


def test_members_after_the_last_one_are_refused(backup: bytes) -> None:
    plain = gzip.decompress(backup)
    for more in (bytes(512), b"x"):
        with pytest.raises(BackupRefused, match="beyond the members"):
            read(gzip.compress(plain + more))
    with pytest.raises(BackupRefused, match="damaged"):
        read(backup + b"x")


def test_a_manifest_of_any_length_is_not_read_into_memory() -> None:
    header = tarfile.TarInfo(MANIFEST)
    header.size, header.mode = 1 << 40, 0o600
    content = gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20))
    with pytest.raises(BackupRefused, match="more than 33,554,432 bytes"):
        read(content)


def test_a_file_that_changes_meanwhile_ends_the_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = made_in(tmp_path)
    monkeypatch.setattr(module, "SLICE_BYTES", 4)
    for text in ("other rows", "sowr", ""):
        sources = sources_of(places)
        (tmp_path / "var/broker.db").write_text(text)
        with pytest.raises(BackupRefused, match=r"broker\.db: has changed"):
            write_archive(io.BytesIO(), manifest_with(sources), sources.content_of)
        made_in(tmp_path)
