"""An identity provider: it creates keys, signs tokens, and serves both over HTTP.

It is a real server on loopback, with OpenID Connect's discovery and a key set.
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
        """The public half of the key as a JSON Web Key."""
        public = self.key.public_key()
        if isinstance(public, rsa.RSAPublicKey):
            made = RSAAlgorithm.to_jwk(public, as_dict=True)
        elif isinstance(public, ec.EllipticCurvePublicKey):
            made = ECAlgorithm.to_jwk(public, as_dict=True)
        else:
            made = OKPAlgorithm.to_jwk(public, as_dict=True)
        return {**made, "kid": self.name, "use": "sig"}


def signer(name: str = "first") -> Signer:
    """Create a key for ES256, an algorithm whose keys are quickly generated."""
    return Signer(name, ec.generate_private_key(ec.SECP256R1()))


class IdentityProvider:
    """A server for discovery and keys.

    It counts requests, and a test can make it answer wrongly.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        """`tls` makes the server speak HTTPS, with a certificate for localhost."""
        self.signers = [signer()]
        self.asked: list[str] = []
        self.documents: dict[str, bytes | int] = {}
        """Answers that replace the right ones, by path: a body, or an HTTP status code."""
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
        """Return a token for AUDIENCE that is valid for `seconds`.

        A claim that is None is left out.
        """
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
        """Return the body, or the HTTP status code, with which a path is answered."""
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
        """Stop the server."""
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
        """Write no log: the tests check `asked`."""
