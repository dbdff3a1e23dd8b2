"""Login and logout: responses, cookies, refusals."""

import asyncio
import logging
from pathlib import Path

import httpx
import pytest

from api import limits
from api.login.admission import COOKIE, FORM_COOKIE
from tests.api.contract_broker import ContractBroker
from tests.api.logging_in import (
    PASSWORD,
    is_in,
    log_in,
    origin_of,
    page_with_users,
    token_in,
)
from tests.peers.control_server import refusal


async def test_who_logs_in_arrives_at_what_was_asked_for_and_logs_out_again(
    broker: ContractBroker, status_socket: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with page_with_users(broker, status_socket) as browser:
        asked = await browser.get("/session?client_id=phone&x=%2F")
        assert asked.status_code == 303
        assert asked.headers["location"] == "/login?next=%2Fsession%3Fclient_id%3Dphone%26x%3D%252F"
        form = await browser.get(asked.headers["location"])
        assert 'name="next" value="/session?client_id=phone&amp;x=%2F"' in form.text
        answer = await log_in(browser, onward="/session?client_id=phone&x=%2F")
        assert answer.status_code == 303
        assert answer.headers["location"] == "/session?client_id=phone&x=%2F"
        page = await browser.get("/")
        assert "anna" in page.text
        assert "viewer" in page.text
        out = await browser.post(
            "/logout", data={"token": token_in(page.text)}, headers={"Origin": origin_of(browser)}
        )
        assert (out.status_code, out.headers["location"]) == (303, "/login")
        assert not browser.cookies.get(COOKIE)
        assert not await is_in(browser)
    assert "'anna' (viewer) logged in from 127.0.0.1" in caplog.text
    assert "'anna' logged out" in caplog.text


async def test_the_cookie_is_for_this_page_alone_and_another_one_at_each_login(
    broker: ContractBroker, status_socket: Path
) -> None:
    async with page_with_users(broker, status_socket) as browser:
        browser.cookies.set(COOKIE, "planted-by-an-attacker")
        set_cookie = (await log_in(browser)).headers["set-cookie"]
        assert set_cookie.startswith(f"{COOKIE}=")
        for word in ("; HttpOnly", "; SameSite=strict", "; Path=/"):
            assert word in set_cookie
        assert "Secure" not in set_cookie, "the test speaks HTTP, to which it would not come back"
        assert "Domain" not in set_cookie
        first = httpx.Cookies({COOKIE: set_cookie.partition("=")[2].partition(";")[0]})
        assert len(first[COOKIE]) == 43, "256 bits"
        browser.cookies.delete(COOKIE)
        browser.cookies.update(first)
        second = (await log_in(browser)).headers["set-cookie"]
        assert first[COOKIE] not in second
        browser.cookies.clear()
        browser.cookies.update(first)
        assert not await is_in(browser), "the first login ended with the second"


async def test_a_proxy_with_https_has_a_cookie_that_is_only_sent_over_https(
    broker: ContractBroker, status_socket: Path
) -> None:
    async with page_with_users(broker, status_socket, hosts=("gateway.example",)) as browser:
        answer = await log_in(browser, origin="https://gateway.example")
        set_cookie = answer.headers["set-cookie"]
        assert set_cookie.startswith(f"__Host-{COOKIE}=")
        assert "; Secure" in set_cookie
        value = set_cookie.partition("=")[2].partition(";")[0]
        shown = {"Cookie": f"__Host-{COOKIE}={value}", "Host": "gateway.example"}
        assert (await browser.get("/", headers=shown)).status_code == 200


@pytest.mark.parametrize(
    ("username", "password"),
    [
        ("anna", "wrong"),
        ("nobody", PASSWORD),
        ("", ""),
        ("anna", ""),
        ("anna", "x" * (limits.PASSWORD_BYTES_MAX + 1)),
        ("a" * (limits.USERNAME_BYTES_MAX + 1), "x"),
    ],
)
async def test_what_does_not_belong_together_is_refused_alike(
    broker: ContractBroker,
    status_socket: Path,
    username: str,
    password: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "api")
    async with page_with_users(broker, status_socket) as browser:
        answer = await log_in(browser, username, password)
        assert answer.status_code == 403
        assert "The name or the password is wrong" in answer.text
        assert "set-cookie" not in answer.headers
        again = await log_in(browser, username, password)
        assert again.status_code == 403
        assert not await is_in(browser)
    lines = [each.message for each in caplog.records if "refused" in each.message]
    assert lines == ["a login from 127.0.0.1 was refused"], "the second within a minute is counted"


async def test_a_user_without_a_role_is_not_let_in_and_learns_why(
    broker: ContractBroker, status_socket: Path
) -> None:
    async with page_with_users(broker, status_socket) as browser:
        answer = await log_in(browser, "sensor")
        assert answer.status_code == 403
        assert "<code>[api] viewers</code>" in answer.text
        assert not await is_in(browser)
        assert (
            "The name or the password is wrong" in (await log_in(browser, "sensor", "wrong")).text
        )


async def test_a_form_from_elsewhere_or_without_its_token_does_nothing(
    broker: ContractBroker, status_socket: Path
) -> None:
    async with page_with_users(broker, status_socket) as browser:
        form = await browser.get("/login")
        right = {"username": "anna", "password": PASSWORD, "token": token_in(form.text)}
        ours = origin_of(browser)
        for origin, fields in (
            ("https://attacker.example", right),
            ("null", right),
            (ours + "0", right),
            ("http://[", right),
            (None, right),
            (ours, right | {"token": "x" * 43}),
            (ours, right | {"token": ""}),
            (ours, {"username": "anna", "password": PASSWORD}),
        ):
            headers = {} if origin is None else {"Origin": origin}
            answer = await browser.post("/login", data=fields, headers=headers)
            assert answer.status_code == 403, (origin, fields)
        assert broker.count_of("authenticate") == 0
        browser.cookies.delete(FORM_COOKIE)
        stranger = await browser.post("/login", data=right, headers={"Origin": ours})
        assert stranger.status_code == 403, "the token belongs to the browser that was given it"


async def test_only_a_form_of_the_page_logs_out(
    broker: ContractBroker, status_socket: Path
) -> None:
    async with page_with_users(broker, status_socket) as browser:
        await log_in(browser)
        token = token_in((await browser.get("/")).text)
        ours = origin_of(browser)
        for origin, fields in (
            ("https://attacker.example", {"token": token}),
            (ours, {"token": "x"}),
            (ours, {"x": "y"}),
        ):
            answer = await browser.post("/logout", data=fields, headers={"Origin": origin})
            assert answer.status_code == 403
        assert await is_in(browser)
        assert (await browser.get("/logout")).status_code == 405
        browser.cookies.clear()
        logged_out = await browser.post("/logout", data={}, headers={"Origin": ours})
        assert (logged_out.status_code, logged_out.headers["location"]) == (303, "/login")


@pytest.mark.parametrize(
    "onward",
    [
        "https://attacker.example/",
        "//attacker.example/",
        "/\\attacker.example",
        "\\/attacker.example",
        "javascript:alert(1)",
        "/x\r\nSet-Cookie: a=b",
        "/" + "x" * 2_047 + "y",
        "",
    ],
)
async def test_no_visitor_is_sent_elsewhere_after_a_login(
    broker: ContractBroker, status_socket: Path, onward: str
) -> None:
    async with page_with_users(broker, status_socket) as browser:
        form = await browser.get("/login")
        fields = {"username": "anna", "password": PASSWORD, "token": token_in(form.text)}
        answer = await browser.post(
            "/login", data=fields | {"next": onward}, headers={"Origin": origin_of(browser)}
        )
        assert (answer.status_code, answer.headers["location"]) == (303, "/")


async def test_a_form_that_is_too_long_or_no_form_is_refused_before_anything_is_asked(
    broker: ContractBroker, status_socket: Path
) -> None:
    async with page_with_users(broker, status_socket) as browser:
        await browser.get("/login")
        ours = {"Origin": origin_of(browser)}
        form = {**ours, "Content-Type": "application/x-www-form-urlencoded"}
        for body, headers, status in (
            (b"a=" + b"b" * limits.FORM_BYTES_MAX, form, 413),
            (b"a=b&" * (limits.FORM_FIELDS_MAX + 1), form, 400),
            (b"a=%ff", form, 400),
            (b"a=\xff", form, 400),
            (b'{"username": "anna"}', {**ours, "Content-Type": "application/json"}, 415),
            (b"username=anna", {**ours, "Content-Type": "text/plain"}, 415),
        ):
            answer = await browser.post("/login", content=body, headers=headers)
            assert answer.status_code == status, body[:20]
        assert await_no_question(broker)


def await_no_question(broker: ContractBroker) -> bool:
    return broker.requests == []


async def test_a_form_that_does_not_end_is_given_up(
    broker: ContractBroker, status_socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FORM_SECONDS_MAX", 0.05)
    async with page_with_users(broker, status_socket) as browser:
        ours = origin_of(browser)
        reader, writer = await asyncio.open_connection(browser.base_url.host, browser.base_url.port)
        writer.write(
            f"POST /login HTTP/1.1\r\nHost: {ours[7:]}\r\nOrigin: {ours}\r\n".encode()
            + b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\na="
        )
        answer = await asyncio.wait_for(reader.read(), 10.0)
        assert answer.startswith(b"HTTP/1.1 408")
        writer.close()


async def test_while_the_broker_is_down_the_form_reports_it(
    broker: ContractBroker, status_socket: Path
) -> None:
    async with page_with_users(broker, status_socket) as browser:
        await browser.get("/login")
        await broker.stop()
        answer = await log_in(browser)
        assert answer.status_code == 503
        assert "The broker is not running" in answer.text
        assert PASSWORD not in answer.text
        assert 'value="anna"' in answer.text, "the name need not be typed again"


async def test_a_busy_broker_is_asked_again_by_the_person(
    broker: ContractBroker, status_socket: Path
) -> None:
    broker.instead = lambda request: (
        refusal("busy", "too many")
        if request["command"] == "authenticate"
        else broker.contract_answer_of(request)
    )
    async with page_with_users(broker, status_socket) as browser:
        answer = await log_in(browser)
        assert answer.status_code == 503
        assert "Try again" in answer.text
        assert answer.headers["retry-after"]


async def test_without_users_there_is_no_login(url: str, broker: ContractBroker) -> None:
    async with httpx.AsyncClient(base_url=url) as browser:
        for answer in (await browser.get("/login"), await browser.post("/login", data={})):
            assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert await is_in(browser)


async def test_what_was_typed_comes_back_escaped(
    broker: ContractBroker, status_socket: Path
) -> None:
    async with page_with_users(broker, status_socket) as browser:
        answer = await log_in(browser, '"><script>alert(1)</script>', "x", onward='/"><script>')
        assert "<script>alert" not in answer.text
        assert '"><script' not in answer.text
