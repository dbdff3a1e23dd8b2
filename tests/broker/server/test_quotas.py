"""From `[quotas]` and `[[user_quotas]]` to the quotas of the core."""

from pathlib import Path
from typing import Any

import pytest

from gateway.broker.access.passwords.file import set_password
from gateway.broker.core.limits import HELD_BYTES_MAX
from gateway.broker.core.quota import NO_LIMIT
from gateway.broker.disk_budget.inventory import disk_of
from gateway.broker.server.quotas import pattern_of, quotas_of
from gateway.configuration import Configuration, load
from tests.broker.server.broker import protocols_of
from tests.broker.server.conftest import Start
from tests.peers.mqtt_bytes import connect, publish

PASSWORD = "secret"  # noqa: S105
HEADER = b"PROXY TCP4 192.0.2.7 10.0.0.1 40000 1883\r\n"


def configured(tmp_path: Path, *, users: bool = True, **keys: Any) -> Configuration:
    overrides = {name.replace("__", "."): value for name, value in keys.items()}
    overrides |= {"gateway.data_dir": tmp_path}
    if users:
        overrides["access.password_file"] = tmp_path / "users"
    return load(None, {}, overrides, None)


def test_where_there_are_users_clients_without_one_have_half_of_everything(tmp_path: Path) -> None:
    quota = quotas_of(configured(tmp_path)).quota_of("")
    assert (quota.connections, quota.sessions, quota.retained) == (5_000, 50_000, 50_000)
    assert quota.held_bytes == HELD_BYTES_MAX // 2
    assert quota.queued_bytes == disk_of(tmp_path).total_bytes // 8
    assert quota.journal_bytes_per_day == disk_of(tmp_path).total_bytes // 2 // 8
    assert quota.session_expiry_seconds is None
    assert quota.prefix == "anonymous_"


def test_the_share_is_a_key_and_so_is_what_their_queues_may_hold(tmp_path: Path) -> None:
    written: dict[str, Any] = {
        "quotas__anonymous_share": 10,
        "quotas__anonymous_queued_bytes": "1MiB",
        "quotas__anonymous_journal_bytes_per_day": "3MiB",
        "quotas__anonymous_session_expiry": "7d",
        "mqtt__max_sessions": 200,
        "mqtt__max_retained_bytes": "10MiB",
    }
    quota = quotas_of(configured(tmp_path, **written)).quota_of("")
    assert (quota.sessions, quota.retained_bytes, quota.queued_bytes) == (20, 1 << 20, 1 << 20)
    assert quota.session_expiry_seconds == 7 * 86_400
    assert quota.journal_bytes_per_day == 3 << 20


def test_where_there_are_no_users_nothing_is_reserved(tmp_path: Path) -> None:
    quota = quotas_of(configured(tmp_path, users=False)).quota_of("")
    assert (quota.connections, quota.sessions, quota.queued_bytes) == 3 * (NO_LIMIT,)
    assert quota.journal_bytes_per_day == 0


def test_the_first_table_that_matches_a_user_counts(tmp_path: Path) -> None:
    tables = [
        {"user": "sensor-*", "sessions": 1, "queued_bytes": "1MiB"},
        {"user": "*", "sessions": 5, "retained": 0, "awaiting_rel_bytes": "1MiB"},
    ]
    quotas = quotas_of(configured(tmp_path, user_quotas=tables))
    sensor, person = quotas.quota_of("sensor-7"), quotas.quota_of("ann")
    assert (sensor.sessions, sensor.queued_bytes, sensor.retained) == (1, 1 << 20, NO_LIMIT)
    assert (person.sessions, person.retained, person.held_bytes) == (5, 0, 1 << 20)
    assert quotas.quota_of("").prefix == "anonymous_"
    assert quotas_of(configured(tmp_path)).quota_of("ann").sessions == NO_LIMIT


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("*", "a\nb", True),
        ("a.c", "abc", False),
        ("a*c", "a-b-c", True),
        ("a*c", "a-b-c-d", False),
        ("ann", "ann", True),
        ("ann", "anna", False),
    ],
)
def test_only_the_star_stands_for_other_characters(pattern: str, name: str, matches: bool) -> None:
    assert (pattern_of(pattern).fullmatch(name) is not None) is matches


async def test_clients_without_a_user_leave_places_for_those_who_have_one(
    start: Start, tmp_path: Path
) -> None:
    users = tmp_path / "passwords"
    set_password(users, "ann", PASSWORD.encode())
    reached = {"proxy_protocol": True, "allow_anonymous_network": True}
    broker = await start(reached, {"protocol": "mqtt"}, users=users, max_sessions=4)
    for number in range(3):
        stranger = await broker.open()
        stranger.send(HEADER + connect(f"nobody{number}", clean=False))
        assert (await stranger.packet())[3] == (0 if number < 2 else 3)
    assert broker.errors == {"anonymous_sessions": 1}
    assert await (await broker.open(1)).log_in("bridge", clean=False) == 0
    ann = await broker.open(1)
    ann.send(connect("a", clean=False, username="ann", password=PASSWORD.encode()))
    assert (await ann.packet())[3] == 0


async def test_clients_without_a_user_bring_no_more_into_the_journal_than_their_share(
    start: Start, tmp_path: Path
) -> None:
    """The size of the session log depends on the bytes that these clients add to the journal."""
    users = tmp_path / "passwords"
    set_password(users, "ann", PASSWORD.encode())
    reached = {"proxy_protocol": True, "allow_anonymous_network": True}
    broker = await start(reached, {"protocol": "mqtt"}, users=users)
    limits = broker.running.event_loop.broker.limits
    anonymous = limits.quotas.quota_of("")
    anonymous.journal_bytes_per_day = 100_000
    ann, stranger, other = [await broker.open(index) for index in (1, 0, 0)]
    ann.send(connect("a", clean=False, username="ann", password=PASSWORD.encode()))
    assert (await ann.packet())[3] == 0
    for number, client in enumerate((stranger, other)):
        client.send(HEADER + connect(f"nobody{number}", clean=False))
        assert (await client.packet())[3] == 0
    for number in range(1, 12):
        stranger.send(publish("t", bytes(10_000), qos=1, packet_id=number))
    # Messages that were read are acknowledged; the socket is not read again for hours.
    assert (await stranger.packet())[0] == 0x40
    channels = protocols_of(broker)
    await broker.eventually(lambda: channels["nobody0"].throttled)
    (meter,) = channels["nobody0"].connection.meters
    assert channels["nobody1"].connection.meters == (meter,), "all of them have one share"
    assert channels["a"].connection.meters == ()
    assert broker.errors == {"anonymous_journal_bytes_per_day": 1}
    before = broker.running.event_loop.broker.batch.next_sequence
    for number in range(1, 30):
        ann.send(publish("t", bytes(10_000), qos=1, packet_id=number))
        assert (await ann.packet())[0] == 0x40, "known users go on"
    assert broker.running.event_loop.broker.batch.next_sequence > before
