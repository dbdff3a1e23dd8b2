"""MQTT 5.0 properties of a packet, with one attribute for each property.

The attribute of an absent property is None, or an empty list if the property can occur repeatedly.
A packet without properties has ``properties=None``. The decoder never creates empty Properties.
The modules property_decoder.py and property_encoder.py decode and encode properties.
"""

from typing import Final

# Property identifiers. [MQTT5-2.2.2.2] table 2-4
PAYLOAD_FORMAT_INDICATOR: Final = 1
MESSAGE_EXPIRY_INTERVAL: Final = 2
CONTENT_TYPE: Final = 3
RESPONSE_TOPIC: Final = 8
CORRELATION_DATA: Final = 9
SUBSCRIPTION_IDENTIFIER: Final = 11
SESSION_EXPIRY_INTERVAL: Final = 17
ASSIGNED_CLIENT_IDENTIFIER: Final = 18
SERVER_KEEP_ALIVE: Final = 19
AUTHENTICATION_METHOD: Final = 21
AUTHENTICATION_DATA: Final = 22
REQUEST_PROBLEM_INFORMATION: Final = 23
WILL_DELAY_INTERVAL: Final = 24
REQUEST_RESPONSE_INFORMATION: Final = 25
RESPONSE_INFORMATION: Final = 26
SERVER_REFERENCE: Final = 28
REASON_STRING: Final = 31
RECEIVE_MAXIMUM: Final = 33
TOPIC_ALIAS_MAXIMUM: Final = 34
TOPIC_ALIAS: Final = 35
MAXIMUM_QOS: Final = 36
RETAIN_AVAILABLE: Final = 37
USER_PROPERTY: Final = 38
MAXIMUM_PACKET_SIZE: Final = 39
WILDCARD_SUBSCRIPTION_AVAILABLE: Final = 40
SUBSCRIPTION_IDENTIFIERS_AVAILABLE: Final = 41
SHARED_SUBSCRIPTION_AVAILABLE: Final = 42


class Properties:  # noqa: PLW1641 - mutable, so not to be hashed
    """The properties of one packet. Create an empty object first, and then set its attributes."""

    payload_format_indicator: int | None = None  # 0: bytes, 1: UTF-8
    message_expiry_interval_seconds: int | None = None
    content_type: str | None = None
    response_topic: str | None = None
    correlation_data: bytes | None = None
    session_expiry_interval_seconds: int | None = None  # 0xFFFFFFFF: never
    assigned_client_identifier: str | None = None
    server_keep_alive_seconds: int | None = None
    authentication_method: str | None = None
    authentication_data: bytes | None = None
    request_problem_information: bool | None = None
    will_delay_interval_seconds: int | None = None
    request_response_information: bool | None = None
    response_information: str | None = None
    server_reference: str | None = None
    reason_string: str | None = None
    receive_maximum: int | None = None
    topic_alias_maximum: int | None = None
    topic_alias: int | None = None
    maximum_qos: int | None = None
    retain_available: bool | None = None
    maximum_packet_size_bytes: int | None = None
    wildcard_subscription_available: bool | None = None
    subscription_identifiers_available: bool | None = None
    shared_subscription_available: bool | None = None

    def __init__(self) -> None:
        self.subscription_identifiers: list[int] = []
        self.user_properties: list[tuple[str, str]] = []

    def fields(self) -> list[tuple[str, object]]:
        """Return names and values of all properties, including absent ones, in identifier order."""
        return [
            ("payload_format_indicator", self.payload_format_indicator),
            ("message_expiry_interval_seconds", self.message_expiry_interval_seconds),
            ("content_type", self.content_type),
            ("response_topic", self.response_topic),
            ("correlation_data", self.correlation_data),
            ("subscription_identifiers", self.subscription_identifiers),
            ("session_expiry_interval_seconds", self.session_expiry_interval_seconds),
            ("assigned_client_identifier", self.assigned_client_identifier),
            ("server_keep_alive_seconds", self.server_keep_alive_seconds),
            ("authentication_method", self.authentication_method),
            ("authentication_data", self.authentication_data),
            ("request_problem_information", self.request_problem_information),
            ("will_delay_interval_seconds", self.will_delay_interval_seconds),
            ("request_response_information", self.request_response_information),
            ("response_information", self.response_information),
            ("server_reference", self.server_reference),
            ("reason_string", self.reason_string),
            ("receive_maximum", self.receive_maximum),
            ("topic_alias_maximum", self.topic_alias_maximum),
            ("topic_alias", self.topic_alias),
            ("maximum_qos", self.maximum_qos),
            ("retain_available", self.retain_available),
            ("user_properties", self.user_properties),
            ("maximum_packet_size_bytes", self.maximum_packet_size_bytes),
            ("wildcard_subscription_available", self.wildcard_subscription_available),
            ("subscription_identifiers_available", self.subscription_identifiers_available),
            ("shared_subscription_available", self.shared_subscription_available),
        ]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Properties) and self.fields() == other.fields()

    def __repr__(self) -> str:
        shown: list[str] = []
        for name, value in self.fields():
            if value is None or value == []:
                continue
            # A secret is never shown, not even in a debugger or a log.
            if name == "authentication_data":
                shown.append("authentication_data=<hidden>")
            else:
                shown.append(f"{name}={value!r}")
        return f"Properties({', '.join(shown)})"
