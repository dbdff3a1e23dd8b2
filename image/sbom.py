#!/usr/bin/env python3
"""Generates a list of the Debian packages and Python distributions in a system (SPDX 2.3).

    sbom.py ROOT NAME

ROOT is the folder with the unpacked system, and NAME is the name of the list. The time of the list
is taken from SOURCE_DATE_EPOCH, so that the output is reproducible.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from email.parser import HeaderParser
from pathlib import Path


def debian_packages(root: Path) -> Iterator[tuple[str, str, str]]:
    for records in ("usr/lib/dpkg-records/status", "var/lib/dpkg/status"):
        file = root / records
        if file.exists():
            for paragraph in file.read_text().split("\n\n"):
                fields = HeaderParser().parsestr(paragraph)
                if "installed" in fields.get("Status", "").split():
                    name, version = fields["Package"], fields["Version"]
                    url = f"pkg:deb/debian/{name}@{version}?arch={fields['Architecture']}"
                    yield name, version, url
            return


def python_distributions(root: Path) -> Iterator[tuple[str, str, str]]:
    for metadata in sorted((root / "usr/lib/oncegate").rglob("*.dist-info/METADATA")):
        fields = HeaderParser().parsestr(metadata.read_text())
        name, version = fields["Name"], fields["Version"]
        yield name, version, f"pkg:pypi/{name.lower().replace('_', '-')}@{version}"


def document(root: Path, name: str) -> dict[str, object]:
    found = sorted({*debian_packages(root), *python_distributions(root)})
    packages = [
        {
            "SPDXID": f"SPDXRef-{hashlib.sha256(url.encode()).hexdigest()[:16]}",
            "name": package,
            "versionInfo": version,
            "downloadLocation": "NOASSERTION",
            "externalRefs": [
                {
                    "referenceCategory": "PACKAGE-MANAGER",
                    "referenceType": "purl",
                    "referenceLocator": url,
                }
            ],
        }
        for package, version, url in found
    ]
    digest = hashlib.sha256(json.dumps(packages).encode()).hexdigest()
    created = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{digest[:32]}",
        "creationInfo": {
            "created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: oncegate image/sbom.py"],
        },
        "packages": packages,
        "relationships": [
            {
                "spdxElementId": "SPDXRef-DOCUMENT",
                "relationshipType": "DESCRIBES",
                "relatedSpdxElement": package["SPDXID"],
            }
            for package in packages
        ],
    }


if __name__ == "__main__":
    json.dump(document(Path(sys.argv[1]), sys.argv[2]), sys.stdout, indent=1)
    print()
