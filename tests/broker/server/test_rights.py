"""The access rules that a broker uses with each kind of configuration."""

from pathlib import Path
from typing import Any

import pytest
from firmware_bridge.protocols.table import PROTOCOLS

from gateway.broker.access.passwords.file import PasswordFile, set_password
from gateway.broker.access.rules.defaults import BridgeAccess
from gateway.broker.access.rules.file import RulesFileError
from gateway.broker.core.permissions import Client
from gateway.broker.server.rights import (
    FORMER_BRIDGES_MAX,
    bridge_access_of,
    bridge_user_of,
    former_bridges,
    rules_file_of,
    rules_of,
    users_known,
)
from gateway.configuration import Configuration, load

GPS = {"name": "gps", "path": "/dev/ttyUSB0", "framing": "nmea"}
NETWORK = {"bind": "0.0.0.0", "anonymous": False}  # noqa: S104


def configured(**keys: Any) -> Configuration:
    overrides = {name.replace("__", "."): value for name, value in keys.items()}
    return load(None, {}, overrides, PROTOCOLS)


WITH_CERTIFICATES: dict[str, Any] = {
    "bind": "0.0.0.0",  # noqa: S104
    "port": 8883,
    "tls": {
        "certificate": "/etc/ssl/server.crt",
        "key": "/etc/ssl/server.key",
        "ca": "/etc/ssl/ca.crt",
        "client_certificates": "required",
    },
}


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "passwords"
    set_password(path, "anna", b"secret")
    return path


def test_without_users_or_on_loopback_alone_everything_is_allowed(users: Path) -> None:
    assert rules_of(configured()) is None
    assert rules_of(configured(access__password_file=users)) is None
    both = [{"bind": "127.0.0.1", "port": 1}, {"protocol": "unix", "path": "/run/x.sock"}]
    assert rules_of(configured(access__password_file=users, listeners=both)) is None


def test_a_network_listener_with_users_has_the_default_rules(users: Path) -> None:
    rules = rules_of(
        configured(
            access__password_file=users,
            listeners=[NETWORK, {"port": 1884}],
            bridge__username="bridge",
        )
    )
    assert rules is not None
    inside, outside = "127.0.0.1:1884", "0.0.0.0:1883"
    assert rules.may_publish(Client("b", "bridge", outside), "sensors/gps/x", 2, False)
    assert not rules.may_publish(Client("c", "anna", outside), "sensors/gps/x", 2, False)
    assert rules.may_publish(Client("c", "anna", outside), "users/anna/x", 2, False)
    assert rules.may_publish(Client("c", None, inside), "sensors/gps/x", 2, False)


def test_a_network_listener_that_is_open_to_everyone_stays_open(users: Path) -> None:
    listener = {"bind": "0.0.0.0", "allow_anonymous_network": True}  # noqa: S104
    assert rules_of(configured(access__password_file=users, listeners=[listener])) is None


def test_a_file_of_rules_replaces_the_default(users: Path, tmp_path: Path) -> None:
    path = tmp_path / "access.rules"
    path.write_text("allow user anna all #\n")
    keys = {"access__password_file": users, "access__rules_file": path, "listeners": [NETWORK]}
    file = rules_file_of(configured(**keys))
    assert file is not None
    assert file.name == str(path)
    path.unlink()
    with pytest.raises(RulesFileError, match="cannot be read"):
        rules_of(configured(**keys))


@pytest.mark.parametrize(
    ("rules", "is_refused"),
    [
        ("allow user bridge publish sensors/gps/#\n", False),
        ("allow user bridge publish sensors/other/#\n", True),
        ("deny user bridge connect\nallow user bridge publish sensors/#\n", True),
        ("allow user anna all #\n", True),
    ],
)
def test_rules_that_would_lose_the_bridge_s_readings_are_refused(
    users: Path, tmp_path: Path, rules: str, is_refused: bool
) -> None:
    path = tmp_path / "access.rules"
    path.write_text(rules)
    keys = {
        "access__password_file": users,
        "access__rules_file": path,
        "bridge__username": "bridge",
        "serial": [GPS],
    }
    if is_refused:
        with pytest.raises(RulesFileError, match="allow user bridge all sensors/#"):
            rules_of(configured(**keys))
    else:
        assert rules_of(configured(**keys)) is not None
    assert rules_of(configured(**keys, bridge__broker="broker.example:1883")) is not None


HOME_ASSISTANT = "homeassistant"


@pytest.mark.parametrize(
    ("keys", "topics"),
    [
        ({"bridge__availability_topic": "plant/state"}, ["plant/state", "plant/state/gps"]),
        ({"bridge__home_assistant_prefix": HOME_ASSISTANT}, ["gateway/gw-1/availability"]),
    ],
)
def test_the_default_rules_let_users_read_the_states_that_the_bridge_writes(
    users: Path, keys: dict[str, str], topics: list[str]
) -> None:
    known: dict[str, Any] = {"access__password_file": users, "bridge__username": "bridge"}
    listeners = [NETWORK, {"port": 1884}]
    rules = rules_of(configured(**known, **keys, listeners=listeners))
    assert rules is not None
    outside = "0.0.0.0:1883"
    for topic in topics:
        assert rules.may_publish(Client("b", "bridge", outside), topic, 0, True)
        assert rules.may_subscribe(Client("c", "anna", outside), topic, 0)
        assert not rules.may_publish(Client("c", "anna", outside), topic, 0, True)


@pytest.mark.parametrize(
    ("keys", "fix"),
    [
        ({"bridge__availability_topic": "plant/state"}, "allow user bridge all plant/state/#"),
        ({"bridge__home_assistant_prefix": HOME_ASSISTANT}, "allow user bridge all gateway/#"),
    ],
)
def test_rules_that_would_lose_the_bridge_s_states_are_refused(
    users: Path, tmp_path: Path, keys: dict[str, str], fix: str
) -> None:
    path = tmp_path / "access.rules"
    path.write_text("allow user bridge publish sensors/# homeassistant/#\n")
    known: dict[str, Any] = {
        "access__password_file": users,
        "access__rules_file": path,
        "bridge__username": "bridge",
        "serial": [GPS],
    }
    with pytest.raises(RulesFileError, match=fix):
        rules_of(configured(**known, **keys))
    path.write_text(f"{fix}\nallow user bridge publish sensors/# homeassistant/#\n")
    assert rules_of(configured(**known, **keys)) is not None


def test_own_rules_that_deny_a_running_bridge_its_topics_are_named_at_a_reload(
    users: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "access.rules"
    path.write_text("allow user new all #\nallow user old publish sensors/#\n")
    known: dict[str, Any] = {
        "access__password_file": users,
        "access__rules_file": path,
        "serial": [GPS],
    }
    old = configured(**known, bridge__username="old", bridge__availability_topic="states")
    new = configured(**known, bridge__username="new")
    rules_of(new, former_bridges(new, ()))
    assert not caplog.messages
    rules_of(new, former_bridges(new, former_bridges(old, ())))
    (message,) = caplog.messages
    assert "must not publish to states/#, alarms/#" in message
    assert "restart `oncegate bridge`" in message


def test_the_bridge_is_a_user_of_this_broker_where_it_connects_to_it(users: Path) -> None:
    keys: dict[str, Any] = {"access__password_file": users, "bridge__username": "bridge"}
    assert bridge_user_of(configured(**keys)) == "bridge"
    assert bridge_user_of(configured(**keys, bridge__broker="127.0.0.1:1883")) == "bridge"
    assert bridge_user_of(configured(**keys, bridge__broker="broker.example:1883")) is None
    assert bridge_user_of(configured(bridge__username="bridge")) is None


def test_the_users_that_there_are(users: Path) -> None:
    assert users_known(configured(), None) is None
    loaded = PasswordFile.load(users)
    assert users_known(configured(), loaded) == frozenset({"anna"})
    assert users_known(configured(listeners=[{}, WITH_CERTIFICATES]), loaded) is None


def test_users_whom_a_certificate_proves_have_the_default_rules_without_passwords() -> None:
    rules = rules_of(configured(listeners=[{}, WITH_CERTIFICATES]))
    assert rules is not None
    outside = f"0.0.0.0:{WITH_CERTIFICATES['port']}"
    assert rules.may_publish(Client("c", "anna", outside), "users/anna/x", 2, False)
    assert not rules.may_publish(Client("c", "anna", outside), "sensors/gps/x", 2, False)
    assert rules.may_publish(Client("c", None, "127.0.0.1:1883"), "sensors/gps/x", 2, False)


def test_the_latest_former_settings_of_the_bridge_are_kept_each_once() -> None:
    every = [configured(alarms__topic=f"alarms {at}") for at in range(FORMER_BRIDGES_MAX + 1)]
    former: tuple[BridgeAccess, ...] = ()
    for each in [every[0], *every]:
        former = former_bridges(each, former)
    assert former == tuple(bridge_access_of(each) for each in every[:0:-1])
