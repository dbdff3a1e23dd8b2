"""Two tenants may not share a resource through their tables. All mistakes are reported."""

from pathlib import Path

import pytest

from gateway.configuration import ConfigurationError, load
from tests.broker.access.authority import Authority

TWO = "[[tenants.acme.listeners]]\nport = 1884\n[[tenants.beta.listeners]]\nport = 1885\n"
JWT = "jwt = {{ issuer = 'https://i.example', audience = '{}' }}\n"


def problems(file: Path, text: str) -> tuple[str, ...]:
    file.write_text(text)
    try:
        load(file, {}, {}, None)
    except ConfigurationError as error:
        return error.problems
    return ()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "[[listeners]]\nport = 1885\n",
            "top level and tenant beta: both have 127.0.0.1 port 1885",
        ),
        ("[api]\nport = 1884\n", "top level and tenant acme: both have 127.0.0.1 port 1884"),
        ("[tenants.acme.api]\nport = 1885\n", "tenant acme and tenant beta: both have"),
        ("[tenants.acme.api]\n", "top level and tenant acme: both have 127.0.0.1 port 8080"),
        ("[[tenants.acme.listeners]]\nport = 0\n", "a port other than 0 for the tenant acme"),
        (
            "".join(
                f"[[tenants.{name}.listeners]]\nprotocol = 'unix'\npath = '/s'\n"
                for name in ("acme", "beta")
            ),
            "both listen at /s",
        ),
        (
            "".join(
                f"[tenants.{name}.access]\npassword_file = '/p'\n" for name in ("acme", "beta")
            ),
            "another [access] password_file for one of tenant acme and tenant beta",
        ),
        (
            "".join(f"[tenants.{name}.access]\n{JWT.format('a')}" for name in ("acme", "beta")),
            "another audience in [access.jwt]",
        ),
        (
            "".join(
                f"[tenants.{name}.uplink]\naddress = 'b:1'\nclient_id = 'one'\n"
                f"[[tenants.{name}.uplink.topics]]\nfilter = '{name}'\n"
                for name in ("acme", "beta")
            ),
            "another client_id in [uplink] for one of tenant acme and tenant beta",
        ),
        (
            "[tenants.acme.upload]\ntarget = 's3://b/x'\n[upload]\ntarget = 's3://b/'\n",
            "separate targets in [upload] for",
        ),
    ],
)
def test_what_would_be_shared_is_refused(tmp_path: Path, text: str, line: str) -> None:
    (problem,) = problems(tmp_path / "gateway.toml", TWO + text)
    assert line in problem


MUTUAL = (
    "[[tenants.{name}.listeners]]\nport = {port}\n"
    "tls = {{ certificate = '/c', key = '/k', ca = '{ca}', client_certificates = 'required' }}\n"
)


def test_one_authority_of_clients_certificates_does_not_serve_two_tenants(tmp_path: Path) -> None:
    acme, beta = Authority(tmp_path / "acme"), Authority(tmp_path / "beta")
    both = tmp_path / "both.pem"
    both.write_bytes(acme.ca.read_bytes() + beta.ca.read_bytes())
    copy = tmp_path / "copy.pem"
    copy.write_bytes(b"of another name\n" + acme.ca.read_bytes().replace(b"\n", b"\r\n"))
    file = tmp_path / "gateway.toml"
    for theirs, is_accepted in (
        (beta.ca, True),
        (acme.ca, False),  # The same file.
        (copy, False),  # The same certificate in another file.
        (both, False),  # The same certificate among others.
    ):
        text = MUTUAL.format(name="acme", port=1884, ca=acme.ca)
        text += MUTUAL.format(name="beta", port=1885, ca=theirs)
        found = problems(file, text)
        if is_accepted:
            assert found == ()
        else:
            (problem,) = found
            assert "another authority in `tls.ca`" in problem
            assert "oncegate tls init" in problem
            assert str(acme.ca) in problem


def test_an_authority_that_is_not_there_yet_is_compared_by_its_name(tmp_path: Path) -> None:
    text = MUTUAL.format(name="acme", port=1884, ca="/not/there")
    text += MUTUAL.format(name="beta", port=1885, ca="/not/there")
    (problem,) = problems(tmp_path / "gateway.toml", text)
    assert "another authority" in problem


@pytest.mark.parametrize(
    "text",
    [
        "",
        "".join(f"[tenants.{name}.access]\n{JWT.format(name)}" for name in ("acme", "beta")),
        "[tenants.acme.upload]\ntarget = 's3://b/x'\n[upload]\ntarget = 's3://b/xy'\n",
        "".join(f"[tenants.{name}.access]\nrules_file = '/r'\n" for name in ("acme", "beta")),
    ],
)
def test_what_keeps_them_apart_is_accepted(tmp_path: Path, text: str) -> None:
    assert problems(tmp_path / "gateway.toml", TWO + text) == ()


def test_the_mistakes_of_the_top_level_and_of_all_tenants_are_reported_together(
    tmp_path: Path,
) -> None:
    text = "[mqtt]\nmax_inflight = -1\n" + TWO
    text += "[tenants.acme.mqtt]\nmax_retained = -2\n[tenants.beta.limits]\nnothing = 1\n"
    found = problems(tmp_path / "gateway.toml", text)
    assert [line.split(": ")[1].split(" ")[0] for line in found] == [
        "[mqtt]",
        "[tenants.acme.mqtt]",
        "[tenants.beta.limits]",
    ]
