"""Digests that identify the entry or token by which a user was accepted."""

from gateway.broker.access.logins.proven import Proven, version_of


def test_a_version_depends_on_source_entry_and_key_and_shows_nothing_of_them() -> None:
    version = version_of("mysql", b"secret row", b"key")
    assert len(version) == 32
    assert version == version_of("mysql", b"secret row", b"key")
    others = {
        version_of("jwt", b"secret row", b"key"),
        version_of("mysql", b"other row", b"key"),
        version_of("mysql", b"secret row", b"other"),
    }
    assert len(others | {version}) == 4


def test_a_proof_is_an_accepted_answer() -> None:
    proven = Proven("anna", "jwt", b"", lifetime_seconds=60.0, groups=["a"])
    assert (proven.reason_code, proven.username) == (0, "anna")
    assert (proven.lifetime_seconds, proven.groups) == (60.0, frozenset("a"))
