"""The access rules on a network listener if no rules file is configured."""

from gateway.broker.access.rules.defaults import default_rules
from gateway.broker.access.rules.evaluation import FileRules
from gateway.broker.core.permissions import Client

NETWORK, INSIDE = "0.0.0.0:1883", "127.0.0.1:1883"


def rules_of(bridge_user: str | None = "bridge") -> FileRules:
    return FileRules(default_rules(open_listeners=[INSIDE], bridge_user=bridge_user))


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
    assert not rules_of(None).may_publish(bridge, "sensors/gps/latitude", 2, False)


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
    rules = FileRules(default_rules(open_listeners=['/run/a "b"\\c'], bridge_user='b "x"'))
    assert rules.may_publish(Client("c", 'b "x"', NETWORK), "sensors/a/b", 0, False)
    assert rules.may_publish(Client("c", None, '/run/a "b"\\c'), "x", 0, False)


def test_home_assistant_reads_descriptions_that_the_bridge_writes() -> None:
    bridge, home = Client("b", "bridge", NETWORK), Client("h", "home", NETWORK)
    topic = "homeassistant/device/cellar-gps/config"
    file = default_rules(open_listeners=[], bridge_user="bridge", home_assistant_prefix=topic[:13])
    rules = FileRules(file)
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
    states = ["gateway/#", "plant 7/%u/state/#"]
    file = default_rules(open_listeners=[], bridge_user="bridge", states=states)
    rules = FileRules(file)
    for topic in ("gateway/gw-1/availability", "plant 7/%u/state", "plant 7/%u/state/gps"):
        assert rules.may_publish(bridge, topic, 1, True)
        assert rules.may_subscribe(home, topic, 0)
        assert not rules.may_publish(home, topic, 0, True)
        assert not rules_of().may_publish(bridge, topic, 1, True)
    assert not rules.may_publish(bridge, "plant 7/bridge/state", 1, True)
