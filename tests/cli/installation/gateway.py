"""A gateway on disk for commands about an installation."""

from pathlib import Path
from typing import Final

PASSWORDS: Final = "anna:$7$x\n"


def gateway_in(root: Path, identity: str = "gw-1") -> Path:
    """Write a gateway's files below a folder, and return its configuration file."""
    file = root / "etc/gateway.toml"
    files = {
        file: f'[gateway]\ndata_dir = "{root}/var"\n[access]\npassword_file = "{root}/etc/users"\n',
        root / "etc/conf.d/gps.toml": '[[serial]]\nname = "gps"\npath = "/dev/x"\nframing="nmea"\n',
        root / "etc/upload.env": "AWS_SECRET_ACCESS_KEY=x\n",
        root / "etc/users": PASSWORDS,
        root / "var/gateway-id": f"{identity}\n",
        root / "var/log/signing-key": "seed key\n",
        root / "var/journal/0001": "a journal",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o640)
    return file
