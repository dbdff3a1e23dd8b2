"""Mosquitto's hashes: those that mosquitto_passwd writes, and invalid ones."""

import base64
import shutil
import subprocess
from pathlib import Path

import pytest

from gateway.broker.access.passwords.file import PasswordFile
from gateway.broker.access.passwords.mosquitto import ITERATIONS_MAX, MosquittoHashError, parse

# Written by mosquitto_passwd 2.0.11 for the password "secret".
OF_7 = (
    "$7$101$1KVp21HnzHyGXTVb$ih+arfUqb2X5ila7iCjcrNN4ab0e60GNvu9+0rwEQ5BHiJlsdH+8UdxO5RnsJ01VKigw"
    "/3yZq2/XegbHmAYMuQ=="
)
OF_6 = (
    "$6$6Hw9QfYTYh/TvTic$T3DrVpkexrm36Be2O8PchVSDdOnS5Sx59YokmsF/53TKoqxx9YZy0AMq4GYIJRO0YL4cdZA8"
    "twc+TWU5S52x3Q=="
)
HASH = base64.b64encode(bytes(64)).decode()


@pytest.mark.parametrize("text", [OF_6, OF_7])
def test_what_mosquitto_wrote_is_checked(text: str) -> None:
    entry = parse(text)
    assert entry.matches(b"secret")
    assert not entry.matches(b"Secret")
    assert not entry.matches(b"")
    assert entry.text() == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$6$YQ==", "is neither"),
        (f"$7$YQ==${HASH}", "is neither"),
        (f"$6$1$YQ==${HASH}", "is neither"),
        (f"$7$0$YQ==${HASH}", "0 iterations"),
        (f"$7${ITERATIONS_MAX + 1}$YQ==${HASH}", f"allowed are 1 to {ITERATIONS_MAX}"),
        (f"$7$9999999999$YQ==${HASH}", "is not a number"),
        (f"$7$-1$YQ==${HASH}", "is not a number"),
        (f"$7$\u0663$YQ==${HASH}", "is not a number"),
        (f"$6$YQ=${HASH}", "base64"),
        (f"$6$\u00e4${HASH}", "base64"),
        (f"$6$${HASH}", "salt has to have"),
        ("$6$YQ==$YQ==", "64 bytes"),
    ],
)
def test_a_line_that_cannot_be_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(MosquittoHashError, match=message):
        parse(text)


@pytest.mark.skipif(shutil.which("mosquitto_passwd") is None, reason="needs mosquitto_passwd")
@pytest.mark.parametrize("kind", ["sha512", "sha512-pbkdf2"])
def test_a_file_of_mosquitto_passwd_is_a_password_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "mosquitto"
    for user, password in (("anna", "pass word"), ("ben", "\u00e4\u00f6")):
        made = [] if path.exists() else ["-c"]
        command = ["mosquitto_passwd", "-H", kind, *made, "-b", str(path), user, password]
        subprocess.run(command, check=True, capture_output=True)
    users = PasswordFile.load(path)
    assert users.verify("anna", b"pass word")
    assert users.verify("ben", "\u00e4\u00f6".encode())
    assert not users.verify("anna", b"pass")
    assert not users.verify("carl", b"pass word")
