"""Properties for the table of packets."""

from collections.abc import Callable

from gateway.broker.wire.packets import Properties


def properties(fill: Callable[[Properties], None]) -> Properties:
    made = Properties()
    fill(made)
    return made


def connect_properties(p: Properties) -> None:
    p.session_expiry_interval_seconds = 0xFFFFFFFF
    p.authentication_method = "SCRAM"
    p.authentication_data = b"\x01\x02"
    p.request_problem_information = False
    p.request_response_information = True
    p.receive_maximum = 20
    p.topic_alias_maximum = 10
    p.user_properties = [("a", "1"), ("a", "2")]
    p.maximum_packet_size_bytes = 65536


def will_properties(p: Properties) -> None:
    p.payload_format_indicator = 1
    p.message_expiry_interval_seconds = 60
    p.content_type = "text"
    p.response_topic = "r/t"
    p.correlation_data = b"\xff"
    p.will_delay_interval_seconds = 5


def connack_properties(p: Properties) -> None:
    p.session_expiry_interval_seconds = 0
    p.assigned_client_identifier = "auto"
    p.server_keep_alive_seconds = 30
    p.response_information = "ri"
    p.server_reference = "other"
    p.reason_string = "why"
    p.receive_maximum = 1
    p.topic_alias_maximum = 0
    p.maximum_qos = 1
    p.retain_available = False
    p.maximum_packet_size_bytes = 1
    p.wildcard_subscription_available = True
    p.subscription_identifiers_available = False
    p.shared_subscription_available = True


def alias(p: Properties) -> None:
    p.topic_alias = 7


def identifiers(p: Properties) -> None:
    p.subscription_identifiers = [1, 200, 268_435_455]


def identifier(p: Properties) -> None:
    p.subscription_identifiers = [128]


def why(p: Properties) -> None:
    p.reason_string = "no"


def user(p: Properties) -> None:
    p.user_properties = [("k", "")]


def method(p: Properties) -> None:
    p.authentication_method = "M"
