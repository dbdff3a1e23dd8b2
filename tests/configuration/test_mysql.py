"""`[access.mysql]`: required keys, and queries that are refused."""

from pathlib import Path

import pytest

from gateway.configuration import ConfigurationError, load
from gateway.configuration.mysql import DEFAULT_QUERY, Mysql

NEEDED = "[access.mysql]\nserver = 'db.example:3306'\nuser = 'oncegate'\ndatabase = 'mqtt'\n"


def test_server_user_and_database_are_enough(file: Path) -> None:
    file.write_text(NEEDED)
    access = load(file, {}, {}, None).access
    assert access.mysql == Mysql(server="db.example:3306", user="oncegate", database="mqtt")
    assert access.mysql.query == DEFAULT_QUERY
    assert access.sources == ("mysql",)
    file.write_text(NEEDED.replace("server = 'db.example:3306'", "socket = '/run/db'"))
    assert load(file, {}, {}, None).access.mysql is not None


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("[access.mysql]\nuser = 'a'\ndatabase = 'b'", "either server or socket"),
        (f"{NEEDED}socket = '/s'", "either server or socket"),
        (f"{NEEDED.replace('server', 'socket')}ca = 'c'", "no ca with socket"),
        (f"{NEEDED}query = 'SELECT 1'", "it has to select one user"),
        (f"{NEEDED}query = 'SELECT ${{user}}'", "known placeholders in query"),
        (f"{NEEDED}query = \"SELECT '${{username}}'\"", "no quotes around a placeholder"),
        (f"{NEEDED}iterations = 10", "iterations with a pbkdf2 hash"),
        (f"{NEEDED}hash = 'pbkdf2-sha512'", "iterations with a pbkdf2 hash"),
        (f"{NEEDED}hash = 'md5'", "hash"),
        (f"{NEEDED}when_down = 'allow'", "when_down"),
        (f"{NEEDED}connections = 0", "connections"),
    ],
)
def test_what_does_not_fit_is_refused(file: Path, lines: str, message: str) -> None:
    file.write_text(lines)
    with pytest.raises(ConfigurationError, match=message):
        load(file, {}, {}, None)
