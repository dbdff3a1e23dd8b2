"""The access rules on a network listener if no rules file is configured."""

from gateway.broker.access.rules.defaults import BridgeAccess, default_rules
from gateway.broker.access.rules.evaluation import FileRules
from gateway.broker.core.permissions import Client

NETWORK, INSIDE = "0.0.0.0:1883", "127.0.0.1:1883"


BRIDGE = BridgeAccess(user="bridge")


def rules_of(*bridges: BridgeAccess, inside: str = INSIDE) -> FileRules:
    return FileRules(default_rules(open_listeners=[inside], bridges=bridges or [BRIDGE]))


def test_each_user_has_its_own_topics_and_reads_the_sensors() -> None:
    rules, anna = rules_of(), Client("c", "anna", NETWORK)
    assert rules.may_connect(anna)
    assert rules.may_publish(anna, "users/anna/lamp", 2, True)
    assert rules.may_subscribe(anna, "users/anna/#", 2)
    assert rules.may_subscribe(anna, "sensors/#", 2)
    assert not rules.may_publish(anna, "sensors/gps/latitude", 0, False)
    assert not rules.may_publish(anna, "users/ben/lamp", 0, False)
    assert not rules.may_subscribe(anna, "users/#", 0)
    assert not rules.may_subscribe(anna, "#", 0)
    assert not rules.may_subscribe(anna, "$SYS/#", 0)


def test_the_bridge_alone_writes_what_sensors_say() -> None:
    rules, bridge = rules_of(), Client("oncegate-bridge-1", "bridge", NETWORK)
    assert rules.may_publish(bridge, "sensors/gps/latitude", 2, False)
    assert rules.may_subscribe(bridge, "oncegate-health/0f", 2)
    assert not rules_of(BridgeAccess(user=None)).may_publish(
        bridge, "sensors/gps/latitude", 2, False
    )


def test_commands_to_boards_are_the_bridge_s_to_read_and_no_user_s_to_publish() -> None:
    rules, bridge = rules_of(), Client("oncegate-bridge-commands", "bridge", NETWORK)
    topic = "commands/board-0000002a/set_interval"
    assert rules.may_subscribe(bridge, "commands/+/+", 0)
    assert rules.may_publish(bridge, "answers/anna", 0, False)
    for user in ("anna", "bridge", None):
        assert not rules.may_publish(Client("c", user, NETWORK), topic, 0, False)
    assert not rules.may_subscribe(Client("c", "anna", NETWORK), "commands/#", 0)
    assert not rules.may_publish(Client("c", "anna", NETWORK), "answers/anna", 0, False)


def test_a_listener_of_this_machine_stays_open_and_strangers_may_nothing() -> None:
    rules = rules_of()
    assert rules.may_publish(Client("c", None, INSIDE), "sensors/x", 0, False)
    assert rules.may_subscribe(Client("c", None, INSIDE), "$SYS/#", 0)
    assert not rules.may_connect(Client("c", None, NETWORK))


def test_names_of_the_configuration_are_quoted() -> None:
    rules = rules_of(BridgeAccess(user='b "x"'), inside='/run/a "b"\\c')
    assert rules.may_publish(Client("c", 'b "x"', NETWORK), "sensors/a/b", 0, False)
    assert rules.may_publish(Client("c", None, '/run/a "b"\\c'), "x", 0, False)


def test_home_assistant_reads_descriptions_that_the_bridge_writes() -> None:
    bridge, home = Client("b", "bridge", NETWORK), Client("h", "home", NETWORK)
    topic = "homeassistant/device/cellar-gps/config"
    rules = rules_of(BridgeAccess(user="bridge", home_assistant_prefix=topic[:13]))
    assert rules.may_publish(bridge, topic, 1, True)
    assert rules.may_subscribe(bridge, "homeassistant/status", 0)
    assert rules.may_subscribe(home, "homeassistant/+/+/config", 0)
    assert rules.may_publish(home, "homeassistant/status", 0, False)
    assert not rules.may_publish(home, topic, 0, True)
    for user in (bridge, home):
        assert not rules_of().may_publish(user, "homeassistant/status", 0, False)
        assert not rules_of().may_publish(user, topic, 1, True)


def test_users_read_the_states_that_the_bridge_writes() -> None:
    bridge, home = Client("b", "bridge", NETWORK), Client("h", "home", NETWORK)
    states = ("gateway/#", "plant 7/%u/state/#")
    rules = rules_of(BridgeAccess(user="bridge", states=states))
    for topic in ("gateway/gw-1/availability", "plant 7/%u/state", "plant 7/%u/state/gps"):
        assert rules.may_publish(bridge, topic, 1, True)
        assert rules.may_subscribe(home, topic, 0)
        assert not rules.may_publish(home, topic, 0, True)
        assert not rules_of().may_publish(bridge, topic, 1, True)
    assert not rules.may_publish(bridge, "plant 7/bridge/state", 1, True)


def test_a_bridge_with_former_settings_has_its_rights_too_and_no_rule_is_there_twice() -> None:
    former = BridgeAccess(user="old", states=("state/#",), home_assistant_prefix="homeassistant")
    rules = rules_of(BRIDGE, former)
    for user, topics in {"bridge": ["sensors/a/b"], "old": ["sensors/a/b", "state/x"]}.items():
        for topic in topics:
            assert rules.may_publish(Client("b", user, NETWORK), topic, 2, True)
    assert not rules.may_publish(Client("b", "bridge", NETWORK), "state/x", 2, True)
    assert rules.may_subscribe(Client("c", "anna", NETWORK), "state/x", 0)
    lines = rules.file.text.splitlines()
    assert len(lines) == len({*lines})
