"""What the core asks the shell about a client's credentials, and what the shell answers.

A user name with a password takes one question. Enhanced authentication (5.0 section 4.12) takes as
many as its method wants: each AUTH of the client is one.
"""

from gateway.core.sessions.connection import Connection


class AuthenticationRequest:
    """One question. `method` None: check `username` and `password`."""

    def __init__(
        self,
        connection: Connection,
        username: str,
        password: bytes,
        method: str | None,
        data: bytes,
        is_first: bool,
    ) -> None:
        self.connection = connection
        self.username = username
        self.password = password
        self.method = method
        self.data = data
        """Authentication data of CONNECT or AUTH."""
        self.is_first = is_first
        """The exchange begins anew with this question."""


class AuthenticationAnswer:
    """What the authenticator says.

    `reason_code` 0: accepted; 0x18: the client has to answer `data`; 0x80 and above: refused.
    """

    def __init__(
        self, reason_code: int, data: bytes | None, username: str | None, detail: str = ""
    ) -> None:
        self.reason_code = reason_code
        self.data = data
        self.username = username
        """Who the client is, when it was accepted."""
        self.detail = detail
        """What was wrong with a client that was refused: for the log, and for the reason string
        when it was connected already."""
