"""Settings of the connection to the broker."""

from dataclasses import dataclass

from gateway.process.mqtt_client.tls import TlsFiles


@dataclass(frozen=True)
class BrokerSettings:
    """Address, login and TLS files for the broker.

    `client_id` is the first part of the session's name. Raises `ValueError` if `client_id` is
    empty, or if `password` is given without `username`.
    """

    host: str
    port: int
    client_id: str
    username: str | None = None
    password: str | None = None
    tls: TlsFiles | None = None

    def __post_init__(self) -> None:
        if not self.client_id:
            raise ValueError("bridge client_id is empty: a persistent session needs a name")
        if self.password is not None and self.username is None:
            raise ValueError("bridge password without username: MQTT 3.1.1 does not allow it")
