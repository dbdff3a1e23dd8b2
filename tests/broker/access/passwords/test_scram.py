"""SCRAM-SHA-256 message by message: RFC 7677's example, and faulty or hostile clients."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.access.passwords.scram import MESSAGE_BYTES_MAX, ScramExchange
from gateway.broker.access.passwords.scram_keys import ScramKeys, keys_of
from gateway.broker.core.effects import AuthenticationAnswer
from tests.broker.access.scram_client import ScramClient

SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
WHOLE_NONCE = (NONCE + SERVER_NONCE).encode()
FIRST = b"n,,n=user,r=" + NONCE.encode()
SERVER_FIRST = b"r=" + WHOLE_NONCE + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
PROOF = b"dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
FINAL = b"c=biws,r=" + WHOLE_NONCE + b",p=" + PROOF
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="

PENCIL = keys_of("pencil", salt=SALT, iterations=4096)


def exchange(server_nonce: str | None = SERVER_NONCE) -> ScramExchange:
    return ScramExchange(lambda _: PENCIL, server_nonce)


def code_and_data(answer: AuthenticationAnswer) -> tuple[int, bytes | None]:
    return answer.reason_code, answer.data


def test_the_example_of_rfc_7677_goes_through_to_the_byte() -> None:
    server = exchange()
    assert code_and_data(server.step(FIRST)) == (0x18, SERVER_FIRST)
    answer = server.step(FINAL)
    assert code_and_data(answer) == (0, SERVER_FINAL)
    assert answer.username == "user"


def test_a_client_that_sends_nothing_first_is_asked_once() -> None:
    server = exchange()
    assert code_and_data(server.step(b"")) == (0x18, b"")
    assert code_and_data(server.step(FIRST)) == (0x18, SERVER_FIRST)
    assert server.step(FINAL).reason_code == 0
    silent = exchange()
    silent.step(b"")
    assert silent.step(b"").reason_code == 0x87


def test_a_wrong_password_is_reported_as_a_wrong_proof_and_nothing_more() -> None:
    server = exchange(None)
    client = ScramClient("user", "Pencil", NONCE)
    challenge = server.step(client.first()).data
    assert challenge is not None
    answer = server.step(client.final(challenge))
    assert code_and_data(answer) == (0x86, None)
    assert answer.username is None
    assert answer.detail == "SCRAM-SHA-256: the proof is wrong"


def test_each_exchange_has_a_nonce_of_its_own_so_that_a_proof_cannot_be_used_twice() -> None:
    first, second = exchange(None), exchange(None)
    client = ScramClient("user", "pencil", NONCE)
    challenge = first.step(client.first()).data
    assert challenge is not None
    final = client.final(challenge)
    assert first.step(final).reason_code == 0
    assert second.step(client.first()).data != challenge
    answer = second.step(final)
    assert answer.reason_code == 0x87
    assert "nonce" in answer.detail


@pytest.mark.parametrize("header", ["n,,", "y,,", "n,a=us=2Cer,", "y,a=us=2Cer,"])
def test_names_are_unescaped_and_may_be_given_twice(header: str) -> None:
    asked: list[str] = []

    def found(name: str) -> ScramKeys:
        asked.append(name)
        return PENCIL

    server = ScramExchange(found)
    client = ScramClient("us=2Cer", "pencil", NONCE, header)
    challenge = server.step(client.first()).data
    assert challenge is not None
    assert server.step(client.final(challenge)).username == "us,er"
    assert asked == ["us,er"]


def test_the_keys_are_those_of_the_prepared_name() -> None:
    server = exchange()
    assert server.step("n,,n=\u2168,r=x".encode()).reason_code == 0x18
    assert server.step(b"c=biws,r=x" + SERVER_NONCE.encode() + b",p=" + PROOF).reason_code == 0x86


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"user", "is not n,,n=USER"),
        (b"n,,", "is not n,,n=USER"),
        (b"n,,n=user", "is not n,,n=USER"),
        (b"n,,r=x,n=user", "is not n,,n=USER"),
        (b"x,,n=user,r=x", "begin with n or y"),
        (b",,n=user,r=x", "begin with n or y"),
        (b"p=tls-unique,,n=user,r=x", "channel binding"),
        (b"n,a=other,n=user,r=x", "no user acts for another"),
        (b"n,user,n=user,r=x", "no user acts for another"),
        (b"n,,m=ext,n=user,r=x", "demands an extension"),
        (b"n,,n=,r=x", "the user name is empty"),
        (b"n,,n=a=b,r=x", "neither =2C nor =3D"),
        (b"n,,n=a=2c,r=x", "neither =2C nor =3D"),
        (b"n,,n=a\0b,r=x", "U+0000"),
        (b"n,,n=user,r=", "nonce is not"),
        (b"n,,n=user,r=a b", "nonce is not"),
        ("n,,n=user,r=\u00e9".encode(), "nonce is not"),
        (b"n,,n=user,r=" + b"x" * 513, "nonce is not"),
        (b"n,,n=user,r=x,", "an extension is not"),
        (b"n,,n=user,r=x,1=2", "an extension is not"),
        (b"\xff", "not UTF-8"),
        (b"n" * (MESSAGE_BYTES_MAX + 1), "at most 8192 fit"),
    ],
)
def test_a_malformed_first_message_is_refused_with_what_is_wrong(
    message: bytes, reason: str
) -> None:
    server = exchange()
    answer = server.step(message)
    assert code_and_data(answer) == (0x87, None)
    assert reason in answer.detail
    assert "after the exchange had ended" in server.step(FIRST).detail


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", "is not c=BINDING"),
        (b"c=biws", "is not c=BINDING"),
        (b"p=" + PROOF, "is not c=BINDING"),
        (FINAL.replace(b"biws", b"eSws"), "does not repeat the header"),
        (FINAL.replace(b"c=", b"x="), "does not repeat the header"),
        (FINAL.replace(b"biws", "b\u00edws".encode()), "does not repeat the header"),
        (FINAL.replace(b"$k0", b"$k1"), "this exchange's nonce"),
        (b"c=biws,r=" + NONCE.encode() + b",p=" + PROOF, "this exchange's nonce"),
        (b"c=biws,r=" + WHOLE_NONCE + b",,p=" + PROOF, "an extension is not"),
        (FINAL + b"=", "not base64"),
        (FINAL.replace(b"p=d", b"p=\xc3\xa9"), "not base64"),
        (b"c=biws,r=" + WHOLE_NONCE + b",p=", "the proof has 0 bytes"),
        (b"c=biws,r=" + WHOLE_NONCE + b",p=" + base64.b64encode(b"x" * 33), "has 33 bytes"),
    ],
)
def test_a_malformed_last_message_is_refused_with_what_is_wrong(
    message: bytes, reason: str
) -> None:
    server = exchange()
    server.step(FIRST)
    answer = server.step(message)
    assert code_and_data(answer) == (0x87, None)
    assert reason in answer.detail
    assert server.step(FINAL).reason_code == 0x87, "there is no second try"


def test_optional_extensions_are_signed_and_passed_over() -> None:
    server = exchange()
    server.step(FIRST + b",x=1")
    assert server.step(FINAL).reason_code == 0x86, "the proof does not cover the extension"
    server = exchange()
    server.step(FIRST)
    assert server.step(FINAL.replace(b",p=", b",x=1,p=")).reason_code == 0x86


@given(st.lists(st.binary(max_size=200), max_size=4))
def test_no_bytes_at_all_get_in_or_raise(messages: list[bytes]) -> None:
    server = exchange()
    for message in [*messages, FIRST, *messages]:
        assert server.step(message).reason_code in {0x18, 0x86, 0x87}
