"""The effects of a broker's answers, and the packets to send after they are durable."""

from gateway.process.durable_queue.settlement import ExchangeSettlement
from gateway.process.mqtt_client.exchanges import Exchange, Exchanges
from tests.process.durable_queue.texts import Text


def in_flight() -> tuple[ExchangeSettlement[Text], Exchanges[Text], Exchange[Text], Exchange[Text]]:
    exchanges: Exchanges[Text] = Exchanges(10)
    first, second = exchanges.start(1, Text("a")), exchanges.start(2, Text("b"))
    return ExchangeSettlement(exchanges), exchanges, first, second


def test_a_pubrec_has_to_be_durable_and_a_completed_exchange_not() -> None:
    settlement, exchanges, first, _ = in_flight()
    settlement.receive_pubrec(1, b"pubrel")
    assert (settlement.released, settlement.answers) == ([first], [b"pubrel"])
    assert settlement.needs_commit
    settlement.receive_pubrec(1, b"pubrel")
    assert settlement.released == [first], "a repeat changes nothing"
    later = ExchangeSettlement(exchanges)
    later.complete(exchanges.receive_pubcomp(1))
    assert (later.completed, later.needs_commit) == ([first], False)


def test_an_unknown_answer_is_answered_or_counted() -> None:
    settlement, exchanges, _, _ = in_flight()
    settlement.receive_pubrec(99, b"pubrel 99")
    settlement.complete(exchanges.receive_pubcomp(99))
    assert (settlement.answers, settlement.unexpected_answers) == ([b"pubrel 99"], 1)
    assert not settlement.needs_commit


def test_a_lost_session_ends_every_exchange_and_its_answers() -> None:
    settlement, exchanges, first, second = in_flight()
    settlement.receive_pubrec(1, b"pubrel")
    settlement.lose_session()
    assert (settlement.released, settlement.answers) == ([], [])
    assert (settlement.returned, len(exchanges)) == ([first, second], 0)
    assert settlement.needs_commit


def test_the_name_of_a_session_has_to_be_durable() -> None:
    settlement, *_ = in_flight()
    assert not settlement.needs_commit
    settlement.session = ""
    assert settlement.needs_commit


def test_answers_leave_before_repeats_and_repeats_before_what_is_new() -> None:
    settlement, exchanges, _, _ = in_flight()
    exchanges.begin_again()
    settlement.answers.append(b"answer")

    def packet_of(exchange: Exchange[Text], *, again: bool) -> bytes:
        return b"%d%s" % (exchange.packet_id, b" again" * again)

    packets = settlement.packets([exchanges.start(3, Text("c"))], packet_of)
    assert packets == [b"answer", b"1 again", b"2 again", b"3"]
