"""An identity provider: keys that it made, tokens that it signed, and an HTTP server with both.

A real server on loopback with OpenID Connect's discovery and a key set.
"""

import json
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

AUDIENCE = "oncegate"

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


class Signer:
    """A private key, its name and its algorithm."""

    def __init__(self, name: str, key: PrivateKey, algorithm: str = "ES256") -> None:
        self.name = name
        self.key = key
        self.algorithm = algorithm

    @property
    def public(self) -> dict[str, Any]:
        """The public half as a JSON Web Key."""
        public = self.key.public_key()
        if isinstance(public, rsa.RSAPublicKey):
            made = RSAAlgorithm.to_jwk(public, as_dict=True)
        elif isinstance(public, ec.EllipticCurvePublicKey):
            made = ECAlgorithm.to_jwk(public, as_dict=True)
        else:
            made = OKPAlgorithm.to_jwk(public, as_dict=True)
        return {**made, "kid": self.name, "use": "sig"}


def signer(name: str = "first") -> Signer:
    """A new key for ES256, which is made in no time."""
    return Signer(name, ec.generate_private_key(ec.SECP256R1()))


class IdentityProvider:
    """Serves discovery and keys; counts what was asked; can be set to answer badly."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        """`tls`: speak HTTPS with this certificate, which is one of localhost."""
        self.signers = [signer()]
        self.asked: list[str] = []
        self.documents: dict[str, bytes | int] = {}
        """What to answer in place of the truth: bytes, or a status."""
        self.may_answer = threading.Event()
        self.may_answer.set()
        handler = type("Handler", (_Handler,), {"provider": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{port}"
        if tls is not None:
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
            self.url = f"https://localhost:{port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def token(self, *, by: Signer | None = None, seconds: float = 60, **claims: object) -> str:
        """A token for AUDIENCE that holds for some seconds; None takes a claim away."""
        by = by or self.signers[0]
        now = time.time()
        body: dict[str, object] = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "anna",
            "iat": int(now),
            "exp": int(now + seconds),
        }
        body = {name: value for name, value in (body | claims).items() if value is not None}
        return jwt.encode(body, by.key, algorithm=by.algorithm, headers={"kid": by.name})

    def document(self, path: str) -> bytes | int:
        """What a path answers."""
        if path in self.documents:
            return self.documents[path]
        if path == "/.well-known/openid-configuration":
            found: dict[str, object] = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        elif path == "/keys":
            found = {"keys": [each.public for each in self.signers]}
        else:
            return 404
        return json.dumps(found).encode()

    def stop(self) -> None:
        """Answer nothing more."""
        self.may_answer.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    provider: IdentityProvider

    def do_GET(self) -> None:
        self.provider.asked.append(self.path)
        self.provider.may_answer.wait(10)
        answer = self.provider.document(self.path)
        status, body = (answer, b"") if isinstance(answer, int) else (200, answer)
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/keys")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Write nothing: the tests look at `asked`."""
