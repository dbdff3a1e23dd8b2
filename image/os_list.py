#!/usr/bin/env python3
"""Generates a repository file for Raspberry Pi Imager (option --repo) that offers one image.

    os_list.py IMAGE.img VERSION [URL]

IMAGE.img.xz must be in the same folder. URL is the address from which the .xz file can be
downloaded. Without URL, the path of the local file is used, which Imager accepts too.
"""

import hashlib
import json
import sys
from datetime import UTC, datetime
from pathlib import Path


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def repository(image: Path, version: str, url: str) -> dict[str, object]:
    packed = image.with_name(f"{image.name}.xz")
    modified = datetime.fromtimestamp(packed.stat().st_mtime, UTC)
    return {
        "os_list": [
            {
                "name": f"Oncegate {version} (64-bit)",
                "description": "An edge gateway that never loses and never doubles a reading",
                "url": url or packed.resolve().as_uri(),
                "release_date": modified.date().isoformat(),
                "extract_size": image.stat().st_size,
                "extract_sha256": sha256_of(image),
                "image_download_size": packed.stat().st_size,
                "image_download_sha256": sha256_of(packed),
                "devices": ["pi3-64bit", "pi4-64bit"],
                # Imager's dialogs for hostname, SSH keys and Wi-Fi: oncegate_device.imager reads
                # the files that they leave on the boot partition.
                "init_format": "cloudinit",
            }
        ]
    }


if __name__ == "__main__":
    url = sys.argv[3] if len(sys.argv) > 3 else ""
    json.dump(repository(Path(sys.argv[1]), sys.argv[2], url), sys.stdout, indent=2)
    print()
