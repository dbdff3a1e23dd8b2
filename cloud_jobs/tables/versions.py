"""The version of a directory's tables, and the steps from one to the next.

It is a property of one table of each set, written when the others are up to date. Tables without it
are of a version before it was counted. Steps can be repeated: a run that dies between two goes on
with the next run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from cloud_jobs.errors import IngestError
from cloud_jobs.tables.merge import quoted

if TYPE_CHECKING:
    from cloud_jobs.tables.delta_tables import Tables

PROPERTY: Final = "oncegate.version"
Step = Callable[["Tables"], None]


def migrate(tables: Tables, table: str, steps: Mapping[int, Step]) -> bool:
    """Bring tables to the version behind the last of the `steps`, each from its number to the next.

    `table` bears the property, and is there. Return whether there was a step to take. Raises
    IngestError where the tables are newer.
    """
    version, newest = version_of(tables, table), newest_of(steps)
    if version > newest:
        raise IngestError(
            f"the tables in {tables.root} are of version {version}, and this job knows {newest}: "
            "a newer one has written them; update this one"
        )
    for number in range(version, newest):
        steps[number](tables)
        write_version(tables, table, number + 1)
    return version < newest


def newest_of(steps: Mapping[int, Step]) -> int:
    """Return the version to which the steps lead."""
    return max(steps) + 1


def version_of(tables: Tables, table: str) -> int:
    """Return the version that a table bears, 0 where it bears none."""
    found = tables.spark.sql(f"SHOW TBLPROPERTIES {_name(tables, table)}").collect()
    values = [row["value"] for row in found if row["key"] == PROPERTY]
    return int(values[0]) if values else 0


def write_version(tables: Tables, table: str, version: int) -> None:
    """Write the version into a table's properties, in a commit of its own."""
    name = _name(tables, table)
    tables.spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{PROPERTY}' = '{version}')")


def _name(tables: Tables, table: str) -> str:
    return f"delta.`{quoted(tables.path(table))}`"
