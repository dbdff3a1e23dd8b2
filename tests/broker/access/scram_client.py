"""The client's side of SCRAM-SHA-256, written from RFC 5802 and without the broker's code."""

import base64
import hashlib
import hmac


def _hmac(key: bytes, text: bytes) -> bytes:
    return hmac.new(key, text, "sha256").digest()


class ScramClient:
    """The client in one exchange; `salt` and `iterations` are those that the server sent."""

    def __init__(self, username: str, password: str, nonce: str, header: str = "n,,") -> None:
        self._password = password
        self._nonce = nonce
        self._header = header
        self._bare = f"n={username},r={nonce}"
        self._server_signature = b""
        self.salt = b""
        self.iterations = 0
        self.nonce = ""

    def first(self) -> bytes:
        """Return the client-first message."""
        return f"{self._header}{self._bare}".encode()

    def final(self, server_first: bytes) -> bytes:
        """Return the client-final message with the proof."""
        attributes = dict(part.split("=", 1) for part in server_first.decode().split(","))
        assert attributes["r"].startswith(self._nonce), "another exchange's nonce"
        assert len(attributes["r"]) > len(self._nonce) + 16, "the server's part is too short"
        self.nonce = attributes["r"]
        self.salt = base64.b64decode(attributes["s"])
        self.iterations = int(attributes["i"])
        salted = hashlib.pbkdf2_hmac("sha256", self._password.encode(), self.salt, self.iterations)
        client_key = _hmac(salted, b"Client Key")
        header = base64.b64encode(self._header.encode()).decode()
        without_proof = f"c={header},r={self.nonce}"
        signed = f"{self._bare},{server_first.decode()},{without_proof}".encode()
        signature = _hmac(hashlib.sha256(client_key).digest(), signed)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        self._server_signature = _hmac(_hmac(salted, b"Server Key"), signed)
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def trusts(self, server_final: bytes | None) -> bool:
        """Return True if the server has proven that it knows the password's keys."""
        return server_final == b"v=" + base64.b64encode(self._server_signature)
