"""Protocol violations by a peer: how they are counted, answered and described."""

from gateway.broker.core.violation import protocol_violation, too_large


def test_an_answer_that_is_too_large_names_both_sizes() -> None:
    violation = too_large("SUBACK", 34, 30)
    assert (violation.reason, violation.reason_code) == ("answer_too_large", 0x95)
    assert "SUBACK of 34 bytes" in violation.detail
    assert "maximum packet size is 30" in violation.detail


def test_a_packet_out_of_its_state_is_a_protocol_error() -> None:
    violation = protocol_violation("a second CONNECT on one connection")
    assert (violation.reason, violation.reason_code) == ("protocol_violation", 0x82)
    assert violation.detail == "a second CONNECT on one connection"
