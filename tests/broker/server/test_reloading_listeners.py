"""Listeners that a reload opens, closes and changes, while other connections stay open."""

import asyncio
import logging
from pathlib import Path

import pytest

from gateway.broker.access.certificates.listener import CertificateError
from gateway.broker.server.listeners.listening import LISTENER_CHANGED, LISTENER_CLOSED
from gateway.configuration import ConfigurationError
from tests.broker.access.authority import DAY
from tests.broker.server.listeners.tls_site import Site
from tests.broker.server.reloading_broker import eventually, free_ports, reloading_broker

ADMINISTRATIVE_ACTION = 0x98


async def test_a_listener_is_opened_and_closed_while_the_others_connections_go_on(
    tmp_path: Path,
) -> None:
    first, second, third = free_ports(3)
    ports = [{"port": first}, {"port": second}]
    async with reloading_broker(tmp_path, listeners=ports) as broker:
        stays = await broker.client(first, "stays")
        goes = await broker.client(second, "goes")
        answer = broker.reload(listeners=[{"port": third}, {"port": first}])
        assert answer["changed"] == ["listeners"]
        assert answer["connections_ended"] == 1
        assert (await goes.packet())[2] == ADMINISTRATIVE_ACTION
        assert await goes.rest() == b""
        assert broker.errors == {LISTENER_CLOSED: 1}
        await broker.client(third, "new")
        await stays.ping()
        assert [each["port"] for each in broker.shown] == [third, first]
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", second)
        assert broker.reload()["changed"] == []


async def test_other_limits_of_a_listener_hold_for_the_next_connection_and_end_none(
    tmp_path: Path,
) -> None:
    (port,) = free_ports(1)
    async with reloading_broker(tmp_path, listeners=[{"port": port}]) as broker:
        first = await broker.client(port, "first")
        answer = broker.reload(listeners=[{"port": port, "max_connections": 1}])
        assert answer["changed"] == answer["new_connections"] == ["listeners.max_connections"]
        assert answer["connections_ended"] == 0
        await broker.client(port, "second", reason_code=0x88)
        await first.ping()
        broker.reload(listeners=[{"port": port}])
        await broker.client(port, "third")


async def test_where_clients_have_to_prove_more_the_connections_of_that_listener_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = Site(tmp_path / "site")
    first, second = free_ports(2)
    async with reloading_broker(
        tmp_path, listeners=[{"port": first}, {"port": second}], bridge__broker="127.0.0.1:1"
    ) as broker:
        plain, other = await broker.client(first, "plain"), await broker.client(second, "other")
        with caplog.at_level(logging.WARNING):
            answer = broker.reload(
                listeners=[{"port": first, "tls": site.mutual()}, {"port": second}]
            )
        assert answer["changed"] == ["listeners.tls"]
        assert answer["connections_ended"] == 1
        assert f"the listener at 127.0.0.1 port {first} changed" in caplog.text
        assert (await plain.packet())[2] == ADMINISTRATIVE_ACTION
        await other.ping()
        assert broker.errors == {LISTENER_CHANGED: 1}
        assert broker.running.reloading.configuration.authenticates
        client = await broker.client(first, "proven", tls=site.client("cellar"))
        assert broker.shown[0]["protocol"] == "mqtts"
        # The files change, but not how clients prove their names: the connection stays open.
        authority = site.authority
        certificate, key = authority.issue("other", alternatives="DNS:localhost")
        tls = site.mutual(crl=str(site.crl)) | {"certificate": str(certificate), "key": str(key)}
        answer = broker.reload(listeners=[{"port": first, "tls": tls}, {"port": second}])
        assert (answer["changed"], answer["connections_ended"]) == (["listeners.tls"], 0)
        await client.ping()
        (served,) = broker.running.listening.certificates.all
        assert served.loaded.subject == "other"
        assert len(served.peers) == 1
        assert served.shown[0]["certificate"]["subject"] == "other"


async def test_a_name_that_was_never_proven_ends_where_users_are_introduced(
    tmp_path: Path,
) -> None:
    site = Site(tmp_path / "site")
    first, second = free_ports(2)
    async with reloading_broker(tmp_path, listeners=[{"port": first}]) as broker:
        claims = await broker.client(first, "claims", user="cellar")
        nameless = await broker.client(first, "nameless")
        answer = broker.reload(listeners=[{"port": first}, {"port": second, "tls": site.mutual()}])
        assert answer["connections_ended"] == 1
        assert (await claims.packet())[2] == 0x87
        await nameless.ping()
        await broker.client(second, "proven", tls=site.client("cellar"))


async def test_all_addresses_take_the_place_of_loopback_at_the_same_port(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    async with reloading_broker(tmp_path, listeners=[{"port": port}]) as broker:
        before = await broker.client(port, "before")
        wide = {"bind": "0.0.0.0", "port": port, "allow_anonymous_network": True}  # noqa: S104
        assert broker.reload(listeners=[wide])["connections_ended"] == 1
        assert (await before.packet())[2] == ADMINISTRATIVE_ACTION
        await broker.client(port, "after")
        broker.reload(listeners=[{"port": port}])
        await broker.client(port, "again")


async def test_a_unix_socket_comes_and_goes_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "mqtt.sock"
    (port,) = free_ports(1)
    async with reloading_broker(tmp_path, listeners=[{"port": port}]) as broker:
        broker.reload(listeners=[{"port": port}, {"protocol": "unix", "path": str(path)}])
        await eventually(path.is_socket)
        _, writer = await asyncio.open_unix_connection(path)
        writer.close()
        broker.reload(listeners=[{"port": port}])
        assert not path.exists()


async def test_two_reloads_in_one_turn_of_the_loop_leave_what_the_last_one_states(
    tmp_path: Path,
) -> None:
    first, second, third = free_ports(3)
    async with reloading_broker(tmp_path, listeners=[{"port": first}]) as broker:
        broker.reload(listeners=[{"port": first}, {"port": second}])
        broker.reload(listeners=[{"port": first}, {"port": third}])
        await broker.client(third, "a")
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", second)


async def test_a_listener_that_cannot_be_opened_leaves_all_as_they_were(tmp_path: Path) -> None:
    site = Site(tmp_path / "site")
    certificate, key = site.authority.issue("past", ends=-2 * DAY)
    past = {"certificate": str(certificate), "key": str(key)}
    first, free, taken = free_ports(3)
    other = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", taken)
    listeners = [{"port": first}]
    async with reloading_broker(tmp_path, listeners=listeners) as broker, other:
        client = await broker.client(first, "a")
        with pytest.raises(ConfigurationError, match="Address already in use"):
            broker.reload(listeners=[{"port": free}, {"port": taken}], mqtt__max_inflight=3)
        with pytest.raises(CertificateError, match="expired"):
            broker.reload(listeners=[{"port": free}, {"port": 0, "tls": past}])
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", free)
        await client.ping()
        assert [each["port"] for each in broker.shown] == [first]
        assert broker.running.reloading.configuration.mqtt.max_inflight == 32
        assert broker.errors == {}


async def test_rules_tell_listeners_with_port_0_apart_by_their_names(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text("deny anyone listener guests connect\nallow anyone all\n")
    listeners = [{"port": 0, "name": "plant"}, {"port": 0, "name": "guests"}]
    async with reloading_broker(tmp_path, listeners=listeners, access__rules_file=rules) as broker:
        plant, guests = ((each["name"], each["port"]) for each in broker.shown)
        assert (plant[0], guests[0]) == ("plant", "guests")
        client = await broker.client(plant[1], "a")
        await broker.client(guests[1], "b", reason_code=0x87)
        assert broker.reload(listeners=listeners[:1])["connections_ended"] == 0
        await client.ping()
