"""Files published with an image: the list of its contents, and the file that Imager reads."""

import hashlib
import lzma
from pathlib import Path

import pytest

from image import os_list, sbom

STATUS = """\
Package: dash
Status: install ok installed
Architecture: arm64
Version: 0.5.12-12

Package: gone
Status: deinstall ok config-files
Architecture: arm64
Version: 1
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    records = tmp_path / "usr/lib/dpkg-records"
    records.mkdir(parents=True)
    (records / "status").write_text(STATUS)
    distribution = tmp_path / "usr/lib/oncegate/lib/site-packages/Foo_Bar-2.0.dist-info"
    distribution.mkdir(parents=True)
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: Foo_Bar\nVersion: 2.0\n")
    return tmp_path


def test_the_sbom_has_what_is_installed_and_not_what_was_removed(root: Path) -> None:
    document = sbom.document(root, "card")
    packages = document["packages"]
    assert isinstance(packages, list)
    locators = {each["externalRefs"][0]["referenceLocator"] for each in packages}
    assert locators == {"pkg:deb/debian/dash@0.5.12-12?arch=arm64", "pkg:pypi/foo-bar@2.0"}


def test_the_same_system_has_the_same_sbom(root: Path) -> None:
    assert sbom.document(root, "card") == sbom.document(root, "card")


def test_imager_is_given_the_sizes_and_hashes_of_both_files(tmp_path: Path) -> None:
    image = tmp_path / "card.img"
    image.write_bytes(bytes(100_000))
    packed = tmp_path / "card.img.xz"
    packed.write_bytes(lzma.compress(bytes(100_000)))
    repository = os_list.repository(image, "1.0", "https://example.org/card.img.xz")
    listed = repository["os_list"]
    assert isinstance(listed, list)
    (entry,) = listed
    assert entry["extract_size"] == 100_000
    assert entry["extract_sha256"] == hashlib.sha256(bytes(100_000)).hexdigest()
    assert entry["image_download_size"] == packed.stat().st_size
    assert entry["image_download_sha256"] == hashlib.sha256(packed.read_bytes()).hexdigest()
    assert entry["url"] == "https://example.org/card.img.xz"
