"""The configuration in force, as the broker reports it."""

from api.models.values import Count, Reported


class ShownKey(Reported):
    section: str
    """The table: `[mqtt]`, or `[[serial]] 2` for the second one of a list."""
    key: str
    value: str
    """The value as in the file; secrets are masked."""
    source: str | None
    """The file, the environment variable or the command line that sets it; null: a default."""
    process: str
    """The process that uses it: after a reload, `broker`; others after their restart."""


class ShownConfiguration(Reported):
    """Every key with the value in force."""

    file: str | None
    """The configuration file; null: there is none."""
    keys: list[ShownKey]
    not_listed: Count
    """Keys beyond the limit of an answer."""
    needs_restart: list[str]
    """Keys that were changed in the file and take effect at a restart of the gateway."""
