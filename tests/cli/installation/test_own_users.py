"""Bridge and uplink can log in at this gateway's own broker, or `check-config` reports why not."""

from pathlib import Path

import pytest

from gateway.broker.access.passwords.file import set_password
from gateway.cli.main import run

NETWORK = "[[listeners]]\nbind = '0.0.0.0'\nanonymous = false\n"
LOCAL = "[[listeners]]\nport = 1884\n"
SERIAL = "[[serial]]\nname = 'gps'\npath = '/dev/ttyUSB0'\nframing = 'nmea'\n"
UPLINK = "[uplink]\naddress = 'broker.example:1883'\n"
TOPICS = "[[uplink.topics]]\nfilter = 'sensors/#'\n"
JWT = "[access.jwt]\nkey_file = 'key.pem'\naudience = 'gateway'\nissuer = 'https://id.example'\n"


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    set_password(tmp_path / "users", "bridge", b"right")
    for name, password in (("right", "right\n"), ("wrong", "other\n")):
        (tmp_path / name).write_text(password)
        (tmp_path / name).chmod(0o600)
    return tmp_path


ACCESS = "[access]\npassword_file = 'users'\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{ACCESS}{NETWORK}{SERIAL}", "use [bridge] username and password_file: the bridge"),
        (
            f"{ACCESS}{NETWORK}{SERIAL}[bridge]\nusername = 'gw'\n",
            "[bridge] username: 'gw' is not a user in users: oncegate passwd users gw",
        ),
        (
            f"{ACCESS}{NETWORK}{SERIAL}[bridge]\nusername = 'bridge'\n",
            "[bridge] password_file is missing: 'bridge' has a password in users",
        ),
        (
            f"{ACCESS}{NETWORK}{SERIAL}[bridge]\nusername = 'bridge'\npassword_file = 'wrong'\n",
            "[bridge] password_file: wrong does not have the password that 'bridge' has in users",
        ),
        (
            f"{ACCESS}{NETWORK}{SERIAL}[bridge]\nusername = 'gw'\nbroker = 'localhost:1883'\n",
            "[bridge] username: 'gw' is not a user in users",
        ),
        (
            f"{ACCESS}{NETWORK}{UPLINK}{TOPICS}",
            "use [uplink] local_username and local_password_file: the uplink",
        ),
        (
            f"{ACCESS}{NETWORK}{UPLINK}local_username = 'up'\n{TOPICS}",
            "[uplink] local_username: 'up' is not a user in users",
        ),
    ],
)
def test_a_login_that_can_never_succeed_is_refused_with_the_fix(
    directory: Path, capsys: pytest.CaptureFixture[str], text: str, problem: str
) -> None:
    (directory / "gateway.toml").write_text(text)
    assert run(["check-config", "--config", "gateway.toml"]) == 2
    assert problem in capsys.readouterr().err


def test_a_tenant_s_uplink_is_judged_by_the_tenant_s_users(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listener = "[[tenants.acme.listeners]]\nport = 1990\nanonymous = false\n"
    uplink = UPLINK.replace("uplink", "tenants.acme.uplink")
    topics = TOPICS.replace("uplink", "tenants.acme.uplink")
    access = ACCESS.replace("access", "tenants.acme.access")
    (directory / "g.toml").write_text(f"{access}{listener}{uplink}local_username = 'up'\n{topics}")
    assert run(["check-config", "--config", "g.toml"]) == 2
    assert "tenant acme: [uplink] local_username: 'up' is not a user" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        f"{ACCESS}{NETWORK}{SERIAL}[bridge]\nusername = 'bridge'\npassword_file = 'right'\n",
        f"{ACCESS}{LOCAL}{NETWORK}{SERIAL}",
        f"{ACCESS}{NETWORK}{LOCAL}{SERIAL}[bridge]\nbroker = '127.0.0.1:1884'\n",
        f"{ACCESS}{NETWORK}{SERIAL}[bridge]\nusername = 'gw'\nbroker = 'other.example:1883'\n",
        f"{ACCESS}{NETWORK}",
        "[[listeners]]\nprotocol = 'websocket'\n",
        "[[listeners]]\nprotocol = 'unix'\npath = 'x.sock'\n",
    ],
)
def test_a_login_that_can_succeed_or_is_not_needed_is_not_refused(
    directory: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (directory / "gateway.toml").write_text(text)
    assert run(["check-config", "--config", "gateway.toml"]) == 0, capsys.readouterr().err
