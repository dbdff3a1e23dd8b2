"""The requests that the password-checking process reads, and its responses."""

import io

from gateway.broker.access.passwords.argon2_hash import Argon2Hash
from gateway.broker.access.passwords.mosquitto import parse as mosquitto_hash_of
from gateway.broker.access.passwords.scram_keys import keys_of
from gateway.broker.access.passwords.worker import request_of, serve
from tests.broker.access.passwords.test_mosquitto import OF_7

ARGON = Argon2Hash.of(b"pass word")
SCRAM = keys_of("secret", salt=bytes(16), iterations=4_096)


def test_each_hash_gets_a_byte_whatever_its_kind() -> None:
    hashes = (ARGON, SCRAM, mosquitto_hash_of(OF_7))
    requests = io.BytesIO(
        request_of(hashes, b"pass word") + request_of(hashes, b"secret") + request_of((), b"x")
    )
    answers = io.BytesIO()
    serve(requests, answers)
    results = [
        [each.matches(password) for each in hashes] for password in (b"pass word", b"secret")
    ]
    assert [each[:2] for each in results] == [[True, False], [False, True]]
    assert answers.getvalue() == bytes(results[0] + results[1])


def test_an_empty_password_is_never_anyone_s() -> None:
    hashes = (Argon2Hash.of(b""), SCRAM)
    assert hashes[0].matches(b"")
    answers = io.BytesIO()
    serve(io.BytesIO(request_of(hashes, b"")), answers)
    assert answers.getvalue() == bytes(2)


def test_it_ends_where_the_requests_end_also_within_a_size() -> None:
    answers = io.BytesIO()
    serve(io.BytesIO(request_of((SCRAM,), b"x") + b"\0\0"), answers)
    assert answers.getvalue() == b"\0"
