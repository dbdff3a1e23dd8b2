"""A site with TLS: an authority, a gateway's certificate and client certificates."""

import asyncio
import ssl
import struct
from pathlib import Path
from typing import Any

from gateway.broker.server.listeners.proxy_header import SIGNATURE
from tests.broker.access.authority import Authority

PLAIN = {"protocol": "mqtt"}
PINGRESP = b"\xd0\x00"
PROXIED = SIGNATURE + bytes.fromhex("2111000c") + bytes([192, 0, 2, 7, 10, 0, 0, 1])
PROXIED += struct.pack(">HH", 40_000, 8883)


class Site:
    """An authority and certificates of a gateway and clients; the client `roof` is revoked."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder)
        self.certificate, self.key = self.authority.issue(
            "gateway", alternatives="DNS:gateway,DNS:localhost,IP:127.0.0.1"
        )
        self.clients = {
            name: self.authority.issue(name, client=True) for name in ("cellar", "roof")
        }
        self.nameless = self.authority.issue("nameless", client=True, subject="/O=nothing")
        self.authority.revoke(self.clients["roof"][0])
        self.crl = self.authority.list_revoked()

    def tls(self, **keys: object) -> dict[str, Any]:
        """Return the table of a listener with TLS."""
        return {"certificate": str(self.certificate), "key": str(self.key)} | keys

    def mutual(self, **keys: object) -> dict[str, Any]:
        """Return the table of a listener that requires client certificates."""
        wanted = {"ca": str(self.authority.ca), "client_certificates": "required"}
        return self.tls(**wanted) | keys

    def client(self, name: str | None = None) -> ssl.SSLContext:
        """Return a client's TLS context, with a certificate of its own if a name is given."""
        context = ssl.create_default_context(cafile=self.authority.ca)
        if name is not None:
            context.load_cert_chain(*self.clients.get(name, self.nameless))
        return context


async def shake_hands(
    tls: ssl.SSLObject,
    incoming: ssl.MemoryBIO,
    outgoing: ssl.MemoryBIO,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    *,
    before: bytes = b"",
) -> None:
    """Complete a client's handshake over memory buffers; `before` is sent first."""
    while True:
        try:
            tls.do_handshake()
            return
        except ssl.SSLWantReadError:
            writer.write(before + outgoing.read())
            before = b""
            incoming.write(await reader.read(65_536))
