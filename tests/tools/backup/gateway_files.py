"""A small gateway on disk: configuration, users, identity and data."""

import io
from pathlib import Path

from gateway.tools.backup.archive import write_archive
from gateway.tools.backup.manifest import Manifest
from gateway.tools.backup.plan import Places
from gateway.tools.backup.sources import Named, Sources

SEGMENT = f"gw-1.{'0' * 16}.1.1-2.{'a' * 64}.jsonl.zst"
FILES = {
    "etc/gateway.toml": '[access]\npassword_file = "etc/passwords"\n',
    "etc/conf.d/gps.toml": "[[serial]]\n",
    "etc/passwords": "anna:hash\n",
    "var/gateway-id": "gw-1\n",
    "var/log/signing-key": "seed key\n",
    "var/log/signing-key.pub": "key\n",
    "var/journal/0001": "a journal",
    "var/broker.db": "rows",
    f"var/log/sealed/{SEGMENT}": "events",
}
"""Text of each file, by its path."""


def made_in(root: Path) -> Places:
    """Write the files of a gateway, and return its places."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o640)
    return places_in(root)


def places_in(root: Path) -> Places:
    return Places(root / "etc/gateway.toml", root / "var")


def sources_of(places: Places, *, with_data: bool = True) -> Sources:
    """Return the files of a gateway as the command adds them."""
    folder = places.configuration.parent
    sources = Sources(folder, places.data_dir)
    sources.add_named(
        [
            Named("configuration", places.configuration),
            Named("configuration", folder / "conf.d/gps.toml"),
            Named("users", folder / "passwords"),
        ]
    )
    sources.add_identity()
    if with_data:
        sources.add_data()
    return sources


def manifest_with(sources: Sources, **changed: object) -> Manifest:
    fields: dict[str, object] = {
        "version": "oncegate 0.1.0",
        "made": "2026-11-27T09:30:00Z",
        "gateway": "gw-1",
        "configuration": "gateway.toml",
        "data_dir": str(sources.data_dir),
        "formats": {"store": 7},
        "members": sources.members,
    }
    return Manifest(**(fields | changed))  # type: ignore[arg-type]


def backup_of(places: Places, *, with_data: bool = True) -> bytes:
    """Return a backup of a gateway."""
    sources = sources_of(places, with_data=with_data)
    output = io.BytesIO()
    write_archive(output, manifest_with(sources), sources.content_of)
    return output.getvalue()


def contents_in(root: Path) -> dict[str, str]:
    """Return the files below a folder with their texts."""
    return {
        path.relative_to(root).as_posix(): path.read_text(errors="replace")
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
