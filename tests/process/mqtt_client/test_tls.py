"""TLS to the upstream broker: its certificate is verified, and the gateway's own is presented."""

import asyncio
import ssl
from pathlib import Path

import pytest

from gateway.process.mqtt_client.tls import TlsFiles, context_of
from tests.broker.access.authority import Authority


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    authority = Authority(tmp_path_factory.mktemp("tls") / "ca")
    authority.issue("broker", alternatives="DNS:localhost")
    authority.issue("gateway", client=True)
    return authority


async def handshake(authority: Authority, context: ssl.SSLContext, host: str) -> bytes:
    """Connect to a server that requires a client certificate, and return the bytes it sends."""
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(authority.ca))
    serving.load_cert_chain(authority.folder / "broker.pem", authority.folder / "broker.key")
    serving.verify_mode = ssl.CERT_REQUIRED

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0, ssl=serving)
    port = server.sockets[0].getsockname()[1]
    async with server:
        reader, writer = await asyncio.open_connection(host, port, ssl=context)
        try:
            return await reader.read(5)
        finally:
            writer.close()


def files(authority: Authority) -> TlsFiles:
    folder = authority.folder
    return TlsFiles(authority.ca, folder / "gateway.pem", folder / "gateway.key")


async def test_both_sides_prove_who_they_are(authority: Authority) -> None:
    assert await handshake(authority, context_of(files(authority)), "localhost") == b"hello"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
async def test_another_authority_and_another_name_are_refused(
    authority: Authority, host: str
) -> None:
    context = context_of(files(authority) if host == "127.0.0.1" else TlsFiles())
    with pytest.raises(ssl.SSLCertVerificationError):
        await handshake(authority, context, host)


def test_a_file_that_cannot_be_used_is_named(authority: Authority, tmp_path: Path) -> None:
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("no certificate")
    folder = authority.folder
    for wrong in (
        TlsFiles(nonsense),
        TlsFiles(tmp_path / "absent.pem"),
        TlsFiles(None, folder / "gateway.pem", folder / "broker.key"),
    ):
        named = wrong.ca or wrong.certificate
        with pytest.raises(OSError, match=str(named)):
            context_of(wrong)


def test_an_old_version_is_not_spoken() -> None:
    assert context_of(TlsFiles()).minimum_version == ssl.TLSVersion.TLSv1_2
    assert context_of(TlsFiles(min_version="1.3")).minimum_version == ssl.TLSVersion.TLSv1_3
