"""Two tenants with the same client identifiers, topics and user names: nothing crosses from one to
the other."""

import asyncio
import json
import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from backports import zstd

from tests.peers.mqtt_bytes import Will
from tests.system.two_tenants import BOUNDED, DEADLINE_SECONDS, TENANTS, TwoTenants


@pytest.fixture(scope="module")
def tenants() -> Iterator[TwoTenants]:
    found = TwoTenants()
    try:
        yield found
    finally:
        found.remove()


async def test_messages_retained_ones_wills_and_sessions_of_one_name_stay_with_their_tenant(
    tenants: TwoTenants,
) -> None:
    of = {name: await tenants.client(name, "pump", clean=False) for name in TENANTS}
    for name, client in of.items():
        # The other tenant neither takes over this connection nor finds this session.
        await client.subscribe(("site/#", 2), ("$share/workers/jobs", 1), ("gone", 1))
        await client.deliver("site/kept", name.encode(), qos=2, retain=True)
        assert (await client.take()).payload == name.encode()
    dying = await tenants.client("acme", "dying", will=Will("gone", b"acme's", 1))
    dying.cut()
    assert (await of["acme"].take()).payload == b"acme's"
    jobs = await tenants.client("acme", "boss")
    for number in range(4):
        await jobs.deliver("jobs", b"%d" % number, qos=1)
    assert [(await of["acme"].take()).payload for _ in range(4)] == [b"0", b"1", b"2", b"3"]
    await of["beta"].deliver("site/last", b"last", qos=2)
    assert await of["beta"].take_payloads_until(b"last") == []
    late = await tenants.client("beta", "late")
    await late.subscribe(("#", 0))
    assert (await late.take()).payload == b"beta"
    await late.ping()
    assert not late.has_waiting()


async def test_a_user_of_another_tenant_is_answered_as_one_that_there_is_not(
    tenants: TwoTenants,
) -> None:
    answers = []
    for username, password in (("bert", b"of-beta"), ("nobody", b"of-beta"), ("anna", b"of-beta")):
        client = await tenants.open("acme")
        answer = await client.connect("c", username=username, password=password)
        answers.append(answer)
        assert await client.expect_closed() == []
    assert answers[0].return_code != 0
    assert answers == [answers[0]] * 3


async def test_a_limit_that_one_tenant_reaches_and_a_ban_leave_the_other_untouched(
    tenants: TwoTenants,
) -> None:
    for name in TENANTS:
        client = await tenants.client(name, "filler")
        for number in range(4):
            await client.deliver(f"full/{number}", b"x", qos=1, retain=True)
        await client.disconnect()
    counts = {}
    for name in TENANTS:
        counts[name] = tenants.ask(name, "status")["retained"]
    assert counts["acme"] == 2
    assert counts["beta"] >= 4
    tenants.run("ctl", "ban", "add", "--client", "banned", "--tenant", "acme")
    refused = await tenants.open("acme")
    answer = await refused.connect("banned", username="anna", password=b"of-acme")
    assert answer.return_code != 0
    await (await tenants.client("beta", "banned")).disconnect()
    assert tenants.ask("beta", "bans")["bans"] == []


def _page_of_beta(tenants: TwoTenants) -> str:
    """Return the text of beta's page, after the client `watcher` has appeared on it."""
    url = f"http://127.0.0.1:{tenants.ports['beta_page']}"
    deadline = time.monotonic() + DEADLINE_SECONDS
    found = ""
    while "watcher" not in found:
        assert time.monotonic() < deadline, found
        time.sleep(0.2)
        try:
            for path in ("/", "/api/v1/status", "/api/v1/sessions"):
                with urllib.request.urlopen(f"{url}{path}", timeout=60) as answer:  # noqa: S310
                    found += answer.read().decode()
        except urllib.error.URLError:
            continue
    return found


async def test_the_status_and_the_page_of_a_tenant_name_no_other(tenants: TwoTenants) -> None:
    only = await tenants.client("acme", "only-of-acme")
    seen = await tenants.client("beta", "watcher")
    await seen.subscribe(("$SYS/#", 0))
    await seen.take()
    found = await asyncio.to_thread(_page_of_beta, tenants)
    assert "acme" not in found
    for command in ("status", "sessions"):
        assert "acme" not in json.dumps(tenants.ask("beta", command))
    assert "only-of-acme" not in json.dumps(tenants.ask(None, "sessions"))
    assert "only-of-acme" in tenants.run("ctl", "sessions", "--tenant", "acme")
    only.cut()


async def _count_of_connected(tenants: TwoTenants, tenant: str) -> int:
    """Return the number of connected clients in a tenant's `$SYS`, after a complete interval."""
    watcher = await tenants.client(tenant, "counts")
    await watcher.subscribe(("$SYS/broker/clients/connected", 0), ("$SYS/broker/uptime", 0))
    found: dict[str, int] = {}
    uptimes = 0
    while uptimes < 2:
        message = await watcher.take()
        uptimes += message.topic.endswith("uptime")
        found[message.topic] = int(message.payload.split()[0])
    await watcher.disconnect()
    return found["$SYS/broker/clients/connected"]


async def test_sys_of_a_tenant_counts_its_own_clients_only(tenants: TwoTenants) -> None:
    crowd = [await tenants.client("acme", f"crowd-{number}") for number in range(12)]
    assert await _count_of_connected(tenants, "acme") > len(crowd)
    assert await _count_of_connected(tenants, "beta") < len(crowd)
    for client in crowd:
        await client.disconnect()


async def test_a_quota_that_a_user_has_used_up_in_one_tenant_is_whole_in_the_other(
    tenants: TwoTenants,
) -> None:
    refused = 0x80
    for name in TENANTS:
        client = await tenants.client(name, "quota", username=BOUNDED)
        assert await client.subscribe(("a", 1), ("b", 1)) == [1, 1]
        assert await client.subscribe(("c", 1)) == [refused]


async def test_a_broker_that_is_killed_leaves_the_other_tenants_connections(
    tenants: TwoTenants,
) -> None:
    stays = await tenants.client("beta", "stays")
    falls = await tenants.client("acme", "falls")
    killed = tenants.broker_of("acme")
    os.kill(killed, signal.SIGKILL)
    await falls.expect_closed()
    await stays.subscribe(("still", 1))
    await stays.deliver("still", b"here", qos=1)
    assert (await stays.take()).payload == b"here"
    # The broker is restarted and still has the acknowledged messages.
    await asyncio.to_thread(tenants.broker_of, "acme", after=killed)
    again = await tenants.client("acme", "pump", clean=False)
    await again.disconnect()


async def test_a_reload_changes_the_tenant_that_is_asked_and_no_other(
    tenants: TwoTenants,
) -> None:
    text = tenants.configuration.read_text()
    tenants.configuration.write_text(text.replace("max_retained = 2", "max_retained = 3"))
    assert tenants.ask("beta", "reload")["changed"] == []
    assert tenants.ask("acme", "reload")["changed"] == ["mqtt.max_retained"]


async def test_each_tenants_segments_go_to_its_own_target_under_its_own_name(
    tenants: TwoTenants,
) -> None:
    for name in TENANTS:
        await (await tenants.client(name, "pump")).disconnect()
    assert await asyncio.to_thread(tenants.stop) == 0, tenants.output()
    folders = {
        "gw-1": tenants.data / "uploaded",
        "gw-1_acme": tenants.data / "tenants" / "acme" / "uploaded",
        "gw-1_beta": tenants.directory / "of-beta",
    }
    for identity, folder in folders.items():
        names = [path.name for path in folder.iterdir() if path.name.endswith(".zst")]
        assert names
        assert {name.split(".")[0] for name in names} == {identity}
    for name, other in (("acme", b"of-beta"), ("beta", b"acme")):
        lines = b"".join(
            zstd.decompress(path.read_bytes()) for path in folders[f"gw-1_{name}"].glob("*.zst")
        )
        assert b"pump" in lines
        assert other not in lines
        tenants.run("audit", "--tenant", name)
    keys = {tenants.run("id", "--public-key", "--tenant", name) for name in TENANTS}
    assert {line.split()[0] for line in keys} == {"gw-1_acme", "gw-1_beta"}
    assert len({line.split()[1] for line in keys}) == 2
