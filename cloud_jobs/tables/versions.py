"""The version of a set of tables. It is stored as a property of one of the tables.

The property is written only after the other tables are complete.
"""

from typing import Final

from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.merge import quoted

PROPERTY: Final = "oncegate.version"


def version_of(tables: Tables, table: str) -> int | None:
    """Return the version from a table's properties, or None if it is not set."""
    found = tables.spark.sql(f"SHOW TBLPROPERTIES {_name(tables, table)}").collect()
    values = [row["value"] for row in found if row["key"] == PROPERTY]
    return int(values[0]) if values else None


def write_version(tables: Tables, table: str, version: int) -> None:
    """Write the version into a table's properties, in a separate commit."""
    name = _name(tables, table)
    tables.spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{PROPERTY}' = '{version}')")


def _name(tables: Tables, table: str) -> str:
    return f"delta.`{quoted(tables.path(table))}`"
