"""Limits of the core and shares of the disk, derived from the configuration."""

from pathlib import Path

from gateway.broker.core.limits import NO_MESSAGE_SIZE_LIMIT, Limits
from gateway.broker.core.when_full import WhenFull
from gateway.broker.server.limits import (
    apply_limits,
    memory_bytes,
    queue_memory_of,
    space_limits_of,
)
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Connect
from gateway.configuration import Configuration, load
from tests.broker.server.conftest import Start

PLAIN = {"protocol": "mqtt"}


async def test_limits_of_mqtt_5_reach_the_core(start: Start) -> None:
    broker = await start(PLAIN, max_topic_alias=3, check_payload_format=True, max_keep_alive="60s")
    limits = broker.running.event_loop.limits
    assert limits.max_topic_alias == 3
    assert limits.check_payload_format
    assert limits.max_keep_alive_seconds == 60
    client = await broker.open()
    client.send(encode(Connect(5, "a", True, 3600, None, None, None), 5))
    connack = await client.packet()
    assert b"\x22\x00\x03" in connack, "topic alias maximum"
    assert b"\x13\x00\x3c" in connack, "server keep alive"


def configured(**overrides: object) -> Configuration:
    return load(
        None, {}, {name.replace("__", "."): value for name, value in overrides.items()}, None
    )


def test_without_a_limit_for_messages_theirs_is_that_of_their_packets() -> None:
    limits = Limits()
    apply_limits(limits, configured(mqtt__message_size_limit="1KiB"))
    assert limits.message_size_limit_bytes == 1024
    apply_limits(limits, configured())
    assert limits.message_size_limit_bytes == NO_MESSAGE_SIZE_LIMIT


def test_every_limit_of_the_core_is_set_but_the_room_on_the_disk() -> None:
    limits = Limits()
    for name in vars_of(limits):
        setattr(limits, name, None)
    apply_limits(limits, configured())
    left = [name for name in vars_of(limits) if getattr(limits, name) is None]
    assert set(left) <= {
        "disk_full",
        "queues_slow",
        "quotas",  # see test_quotas.py
        "when_full_of",
        # The default of the next three limits is None.
        "await_rel_timeout_seconds",
        "retry_interval_seconds",
        "max_session_expiry_seconds",
    }


def test_the_first_table_that_fits_a_client_states_what_its_queue_does() -> None:
    limits = Limits()
    apply_limits(limits, configured())
    assert limits.policy_for("archive-1") is WhenFull.SLOW
    assert not limits.queues_refuse
    tables = [
        {"client": "archive-*", "when_full": "refuse"},
        {"client": "*-1", "when_full": "drop_oldest"},
        {"client": "archive-1", "when_full": "drop_newest"},
    ]
    apply_limits(limits, configured(queues=tables))
    assert limits.policy_for("archive-1") is WhenFull.REFUSE
    assert limits.policy_for("display-1") is WhenFull.DROP_OLDEST
    assert limits.policy_for("display-2") is WhenFull.SLOW
    assert limits.queues_refuse
    apply_limits(limits, configured())
    assert limits.policy_for("archive-1") is WhenFull.SLOW


def test_queues_in_memory_have_a_share_of_it_unless_they_are_configured() -> None:
    limits = Limits()
    apply_limits(limits, configured(mqtt__max_queue_memory="5MiB", mqtt__max_mqueue_len=0))
    assert limits.max_queue_memory_bytes == 5 << 20
    assert limits.max_mqueue_len > 1 << 40, "0 is no limit"
    assert queue_memory_of(512 << 20) == 64 << 20
    assert queue_memory_of(32 << 20) == 16 << 20
    assert queue_memory_of(64 << 30) == 256 << 20


def test_a_container_has_what_its_control_group_allows(tmp_path: Path) -> None:
    total = memory_bytes(tmp_path / "missing")
    assert total > 64 << 20
    limit = tmp_path / "memory.max"
    limit.write_text("67108864\n")
    assert memory_bytes(limit) == 64 << 20
    limit.write_text("max\n")
    assert memory_bytes(limit) == total
    limit.write_text(f"{2 * total}\n")
    assert memory_bytes(limit) == total


def vars_of(limits: Limits) -> list[str]:
    return [name for name in vars(limits) if not name.startswith("_")]


def test_the_room_on_the_disk_is_shared_out_as_the_section_states() -> None:
    limits = space_limits_of(configured(disk__free_min="2MiB", disk__reserve="1MiB"))
    assert (limits.free_min, limits.reserve) == (2 << 20, 1 << 20)
    assert limits.log_max is None


def test_the_room_on_the_disk_is_shared_out_among_the_brokers_of_all_tenants(
    tmp_path: Path,
) -> None:
    file = tmp_path / "gateway.toml"
    ports = {"acme": 1884, "beta": 1885, "gamma": 1886}
    file.write_text(
        "".join(f"[[tenants.{name}.listeners]]\nport = {ports[name]}\n" for name in ports)
    )
    whole = load(file, {}, {}, None)
    rules = [space_limits_of(each).of_disk(1 << 30) for each in (whole, *whole.tenants.values())]
    assert {each.log_max for each in rules} == {128 << 20}
    assert {each.free_min for each in rules} == {32 << 20}, "what is free is free for all"
