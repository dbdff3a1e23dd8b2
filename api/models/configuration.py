"""The configuration in force, as the broker reports it."""

from api.models.values import Count, Reported


class ShownKey(Reported):
    section: str
    """The table: `[mqtt]`, or `[[serial]] 2` for the second table of a list."""
    key: str
    value: str
    """The value as in the file; secrets are masked."""
    source: str | None
    """The file, environment variable or command line that sets the key; null for a default."""
    process: str
    """The process that uses the key.

    The broker applies a change after a reload, other processes after their restart.
    """


class ShownConfiguration(Reported):
    """All keys of the configuration with the values in force."""

    file: str | None
    """Path of the configuration file; null if there is none."""
    keys: list[ShownKey]
    not_listed: Count
    """Number of keys beyond the limit of a response."""
    needs_restart: list[str]
    """Keys that were changed in the file and take effect when the gateway restarts."""
