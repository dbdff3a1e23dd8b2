"""The server's side of one SCRAM-SHA-256 exchange (RFC 5802, RFC 7677), without I/O::

    client-first   n,,n=USER,r=CLIENTNONCE
    server-first   r=CLIENTNONCE SERVERNONCE,s=SALT,i=ITERATIONS
    client-final   c=biws,r=CLIENTNONCE SERVERNONCE,p=PROOF
    server-final   v=SIGNATURE

Channel binding is not supported. A client that demands channel binding (`p=...`) is rejected. The
server's nonce is new for each exchange, so an intercepted proof is worthless.

The exchange gets a user's keys from a function, `keys_of`, which also returns keys for users that
do not exist. So an unknown user and a wrong password cause the same response.
"""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from enum import Enum

from gateway.broker.access.passwords.saslprep import Unprepared, prepared_of
from gateway.broker.access.passwords.scram_keys import KEY_BYTES, ScramKeys, bytes_of
from gateway.broker.core.effects import AuthenticationAnswer
from gateway.broker.wire.codes import (
    BAD_USER_NAME_OR_PASSWORD,
    CONTINUE_AUTHENTICATION,
    NOT_AUTHORIZED,
)

METHOD = "SCRAM-SHA-256"
"""The name of this authentication method in CONNECT and AUTH (MQTT 5.0 section 4.12.1)."""

MESSAGE_BYTES_MAX = 8_192
"""Bytes of a message from the client, at most.

This is enough for a nonce and for the longest user name (1,024 bytes) with every byte escaped,
twice: as user and as authzid.
"""

CLIENT_NONCE_CHARACTERS_MAX = 512
"""Characters of the client's nonce, at most, because the server's message repeats the nonce.

Clients send 18 to 64 characters.
"""

SERVER_NONCE_BYTES = 24

_PRINTABLE = re.compile(r"[\x21-\x2b\x2d-\x7e]+")
_EXTENSION = re.compile(r"[A-Za-z]=[^\x00,]+")
_ESCAPES = re.compile(r"=(2C|3D)?")


class _Refused(Exception):
    """Error raised if the client's message is invalid. The error's text states the reason."""


class _Expected(Enum):
    """The message that the client must send next.

    The exchange stores this value as its state. It does not store the method that processes the
    message, because a stored bound method would create a reference cycle.
    """

    FIRST = "client-first"
    FINAL = "client-final"


class ScramExchange:
    """One SCRAM exchange, from client-first to server-final. Every rejection ends the exchange."""

    def __init__(
        self, keys_of: Callable[[str], ScramKeys], server_nonce: str | None = None
    ) -> None:
        self._keys_of = keys_of
        self._server_nonce = server_nonce or secrets.token_urlsafe(SERVER_NONCE_BYTES)
        self._expected: _Expected | None = _Expected.FIRST
        self._was_invited = False
        self.username = ""
        """The user that the client claims to be; empty before client-first."""
        self._keys: ScramKeys
        self._gs2_header = ""
        self._nonce = ""
        self._signed_so_far = ""

    def step(self, data: bytes) -> AuthenticationAnswer:
        """Process the client's next message, and return the result with the server's response."""
        expected, self._expected = self._expected, None
        try:
            if expected is None:
                raise _Refused("a message after the exchange had ended")
            if len(data) > MESSAGE_BYTES_MAX:
                raise _Refused(f"a message of {len(data)} bytes, at most {MESSAGE_BYTES_MAX} fit")
            message = data.decode()
            if expected is _Expected.FIRST:
                return self._receive_first(message)
            return self._receive_final(message)
        except UnicodeDecodeError:
            return _refusal("a message that is not UTF-8")
        except _Refused as refused:
            return _refusal(str(refused))

    def _receive_first(self, message: str) -> AuthenticationAnswer:
        if not message and not self._was_invited:
            # RFC 4422 section 3: if the client sent no initial response, the server requests one.
            self._was_invited = True
            self._expected = _Expected.FIRST
            return AuthenticationAnswer(CONTINUE_AUTHENTICATION, b"", None)
        flag, authzid, bare = _gs2_parts_of(message)
        attributes = bare.split(",")
        if attributes[0].startswith("m="):
            raise _Refused("client-first demands an extension; there are none")
        if len(attributes) < 2 or attributes[0][:2] != "n=" or attributes[1][:2] != "r=":
            raise _Refused("client-first is not n,,n=USER,r=NONCE")
        _refuse_malformed(attributes[2:])
        client_nonce = attributes[1][2:]
        if (
            len(client_nonce) > CLIENT_NONCE_CHARACTERS_MAX
            or _PRINTABLE.fullmatch(client_nonce) is None
        ):
            raise _Refused(
                f"the nonce is not 1 to {CLIENT_NONCE_CHARACTERS_MAX} printable characters"
            )
        self.username = _username_of(attributes[0][2:])
        if authzid and (authzid[:2] != "a=" or _username_of(authzid[2:]) != self.username):
            raise _Refused("the authorization identity is not the user: no user acts for another")
        self._keys = self._keys_of(self.username)
        self._gs2_header = f"{flag},{authzid},"
        self._nonce = client_nonce + self._server_nonce
        salt = base64.b64encode(self._keys.salt).decode()
        answer = f"r={self._nonce},s={salt},i={self._keys.iterations}"
        self._signed_so_far = f"{bare},{answer}"
        self._expected = _Expected.FINAL
        return AuthenticationAnswer(CONTINUE_AUTHENTICATION, answer.encode(), None)

    def _receive_final(self, message: str) -> AuthenticationAnswer:
        without_proof, separator, proof_text = message.rpartition(",p=")
        attributes = without_proof.split(",")
        if not separator or len(attributes) < 2:
            raise _Refused("client-final is not c=BINDING,r=NONCE,p=PROOF")
        binding = "c=" + base64.b64encode(self._gs2_header.encode()).decode()
        if not _equal(attributes[0], binding):
            raise _Refused("client-final does not repeat the header of client-first")
        if not _equal(attributes[1], f"r={self._nonce}"):
            raise _Refused("client-final does not carry this exchange's nonce")
        _refuse_malformed(attributes[2:])
        try:
            proof = bytes_of(proof_text)
        except ValueError:
            raise _Refused("the proof is not base64") from None
        if len(proof) != KEY_BYTES:
            raise _Refused(f"the proof has {len(proof)} bytes, not {KEY_BYTES}")
        return self._judge(proof, f"{self._signed_so_far},{without_proof}".encode())

    def _judge(self, proof: bytes, signed: bytes) -> AuthenticationAnswer:
        client_signature = hmac.digest(self._keys.stored_key, signed, "sha256")
        client_key = bytes(a ^ b for a, b in zip(proof, client_signature, strict=True))
        stored_key = hashlib.sha256(client_key).digest()
        if not hmac.compare_digest(stored_key, self._keys.stored_key):
            return AuthenticationAnswer(
                BAD_USER_NAME_OR_PASSWORD, None, None, f"{METHOD}: the proof is wrong"
            )
        server_signature = hmac.digest(self._keys.server_key, signed, "sha256")
        data = b"v=" + base64.b64encode(server_signature)
        return AuthenticationAnswer(0, data, self.username)


def _gs2_parts_of(message: str) -> tuple[str, str, str]:
    """Split a client-first message into channel binding flag, authzid and bare message (RFC 5802).

    Raises _Refused if the message is malformed or demands channel binding.
    """
    parts = message.split(",", 2)
    if len(parts) != 3:
        raise _Refused("client-first is not n,,n=USER,r=NONCE")
    flag, authzid, bare = parts
    if flag.startswith("p="):
        raise _Refused("channel binding is demanded; there is none")
    if flag not in ("n", "y"):
        raise _Refused("client-first does not begin with n or y")
    return flag, authzid, bare


def _refuse_malformed(extensions: list[str]) -> None:
    # RFC 5802 section 5.1: unknown optional extensions are ignored.
    if not all(_EXTENSION.fullmatch(extension) for extension in extensions):
        raise _Refused("an extension is not X=VALUE")


def _username_of(saslname: str) -> str:
    if any(match == "" for match in _ESCAPES.findall(saslname)):
        raise _Refused("a user name with = that is neither =2C nor =3D")
    try:
        name = prepared_of(saslname.replace("=2C", ",").replace("=3D", "="), stored=False)
    except Unprepared as unprepared:
        raise _Refused(f"the user name cannot be: {unprepared}") from None
    if not name:
        raise _Refused("the user name is empty")
    return name


def _equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())


def _refusal(detail: str) -> AuthenticationAnswer:
    return AuthenticationAnswer(NOT_AUTHORIZED, None, None, f"{METHOD}: {detail}")
