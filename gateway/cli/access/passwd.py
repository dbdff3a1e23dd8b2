"""`oncegate passwd`: edits the password file."""

import getpass
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.common.failures import EXIT_USAGE, CommandFailed
from gateway.cli.common.options import ConfigOption, configuration_of
from gateway.cli.common.output import counted

FileArgument = Annotated[
    Path, typer.Argument(help="Password file. It is created if it does not exist.")
]
UserArgument = Annotated[
    str | None, typer.Argument(help="User name of the client. Omit with --import.")
]
PasswordStdinOption = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from the first line of stdin.")
]
ScramOption = Annotated[
    bool,
    typer.Option(
        "--scram",
        help="Store keys for SCRAM-SHA-256, so that the client does not need to send its password.",
    ),
]
IterationsOption = Annotated[
    int | None,
    typer.Option(
        "--iterations",
        help="Number of hash iterations with --scram, 4096 to 600000. Default: 15000. A "
        "client, such as a microcontroller, must compute the same number at each login.",
    ),
]
RemoveOption = Annotated[bool, typer.Option("--remove", help="Remove the user from the file.")]
ImportOption = Annotated[
    Path | None,
    typer.Option(
        "--import", help="Add the users of Mosquitto's password file, with their present hashes."
    ),
]


def passwd(
    file: FileArgument,
    user: UserArgument = None,
    password_stdin: PasswordStdinOption = False,
    scram: ScramOption = False,
    iterations: IterationsOption = None,
    remove: RemoveOption = False,
    source: ImportOption = None,
    config: ConfigOption = None,
) -> None:
    """Set a user's password, remove a user, or import Mosquitto's users.

    Passwords are stored as Argon2 hashes, or with --scram as SCRAM-SHA-256 keys.
    Set password_file (section access) to FILE. Then run `oncegate ctl reload`.

    Examples:

        oncegate passwd /etc/oncegate/passwords cellar

        echo "$SECRET" | oncegate passwd passwords cellar --password-stdin

        oncegate passwd passwords cellar --scram

        oncegate passwd passwords cellar --remove

        oncegate passwd passwords --import /etc/mosquitto/passwd
    """
    if config is not None:
        configuration_of(config)
    if source is not None:
        if user is not None or scram or remove or password_stdin or iterations is not None:
            raise CommandFailed("--import takes no user and no other option", exit_code=EXIT_USAGE)
        _do(lambda: _import(file, source))
    elif user is None:
        raise CommandFailed("expected a USER, or --import FILE", exit_code=EXIT_USAGE)
    elif remove:
        _do(lambda: _remove(file, user))
    else:
        count = _scram_iterations(iterations, scram=scram)
        _do(lambda: _set(file, user, count, from_stdin=password_stdin))


def _do(change: Callable[[], None]) -> None:
    """Call the function `change`, which edits the password file.

    Raises CommandFailed if the change fails.
    """
    from gateway.broker.access.passwords.lines import PasswordFileError, UsernameRefused

    try:
        change()
    except UsernameRefused as error:
        raise CommandFailed(str(error), exit_code=EXIT_USAGE) from None
    except PasswordFileError as error:
        raise CommandFailed(str(error)) from None


def _import(file: Path, source: Path) -> None:
    """Import users from Mosquitto's password file, and print a summary."""
    from gateway.broker.access.passwords.file import import_users

    if not source.exists():
        raise CommandFailed(f"{source}: cannot be read: No such file or directory")
    imported = import_users(file, source)
    count, kept, refused = imported.added, imported.kept, imported.without_password
    sentence = f"{counted(count, 'user')} added to {file}"
    if kept:
        sentence += f"; {len(kept)} already there and unchanged: {', '.join(kept)}"
    if refused:
        sentence += (
            f"\n{counted(len(refused), 'user')} not added because their password is empty: "
            f"{', '.join(refused)}. Give each one a password: oncegate passwd {file} USER"
        )
    if count:
        sentence += (
            "\nMosquitto's hashes ($6$, $7$) are guessed faster than Argon2's: give each user a "
            f"new password soon, with oncegate passwd {file} USER"
        )
    print(sentence)


def _remove(file: Path, user: str) -> None:
    from gateway.broker.access.passwords.file import refuse_username, remove_user

    refuse_username(user)
    if not remove_user(file, user):
        raise CommandFailed(f"{file}: there is no user {user!r}")
    print(f"{user} is no longer in {file}")


def _set(file: Path, user: str, scram_iterations: int | None, *, from_stdin: bool) -> None:
    from gateway.broker.access.passwords.file import refuse_username, set_password

    refuse_username(user)
    password = _password(from_stdin=from_stdin)
    is_new = set_password(file, user, password, scram_iterations=scram_iterations)
    print(f"{'added' if is_new else 'changed'}: {user} in {file}")


def _scram_iterations(iterations: int | None, *, scram: bool) -> int | None:
    """Return the number of SCRAM iterations, or None if --scram was not given.

    Raises CommandFailed if --iterations is out of range or was given without --scram.
    """
    from gateway.broker.access.passwords.scram_keys import (
        ITERATIONS_DEFAULT,
        ITERATIONS_MAX,
        ITERATIONS_MIN,
    )

    if not scram:
        if iterations is not None:
            raise CommandFailed(
                "--iterations belongs to --scram: Argon2 hashes have none", exit_code=EXIT_USAGE
            )
        return None
    if iterations is None:
        return ITERATIONS_DEFAULT
    if not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
        allowed = f"{ITERATIONS_MIN} to {ITERATIONS_MAX}"
        raise CommandFailed(f"{iterations} iterations: allowed are {allowed}", exit_code=EXIT_USAGE)
    return iterations


def _password(*, from_stdin: bool) -> bytes:
    if from_stdin or not sys.stdin.isatty():
        password = sys.stdin.buffer.readline(65_537).rstrip(b"\r\n")
        if not password:
            raise CommandFailed(
                "the first line of standard input is empty: write the password there, for example "
                'with echo "$SECRET" | oncegate passwd FILE USER --password-stdin'
            )
        return password
    typed = getpass.getpass("Password: ")
    if getpass.getpass("Once more: ") != typed:
        raise CommandFailed("the two passwords differ: nothing was changed")
    return typed.encode()
