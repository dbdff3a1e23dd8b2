"""The user's own Spark settings, which this program must not override.

The settings are in the environment variables `PYSPARK_SUBMIT_ARGS` and `MASTER`, and in the file
spark-defaults.conf. In local mode, Spark reads them only when its JVM starts, so this module reads
them itself. If this program passed a setting to Spark, its value would replace the user's value.
The program therefore passes only settings that the user has not set.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

import pyspark


def user_settings_in(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the Spark settings from the environment variables and from spark-defaults.conf."""
    variables = os.environ if environment is None else environment
    found = _in_file(_folder(variables) / "spark-defaults.conf")
    if "MASTER" in variables:
        found.setdefault("spark.master", variables["MASTER"])
    return found | _in_arguments(variables.get("PYSPARK_SUBMIT_ARGS", ""))


def is_local(settings: Mapping[str, str]) -> bool:
    """Return True if Spark runs on this machine only.

    Without a setting for the master, Spark uses `local[*]`.
    """
    return settings.get("spark.master", "local").startswith("local")


def is_one_jvm(settings: Mapping[str, str]) -> bool:
    """Return True if one JVM is both driver and executor."""
    return is_local(settings) and not settings.get("spark.master", "").startswith("local-")


_STARTED_ELSEWHERE = (
    "SPARK_REMOTE", "PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "MASTER", "HADOOP_CONF_DIR",
    "YARN_CONF_DIR", "HADOOP_HOME",
)  # fmt: skip


def is_untouched(environment: Mapping[str, str] | None = None) -> bool:
    """Return True if Spark will run in one local JVM and use the local file system by default.

    Environment variables and configuration files that may change this are checked.
    """
    variables = os.environ if environment is None else environment
    found = user_settings_in(variables)
    return (
        not any(name in variables for name in _STARTED_ELSEWHERE)
        and is_one_jvm(found)
        and not any(name.startswith("spark.hadoop.") for name in found)
        and not (_folder(variables) / "core-site.xml").exists()
    )


def _folder(variables: Mapping[str, str]) -> Path:
    """Return the folder of Spark's configuration files."""
    home = variables.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    return Path(variables.get("SPARK_CONF_DIR") or Path(home, "conf"))


def _in_file(path: Path) -> dict[str, str]:
    """Return the settings in a properties file.

    If the file cannot be read, return an empty dictionary. Spark itself reports the error later.
    """
    found: dict[str, str] = {}
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return found
    for line in lines:
        key, _, value = line.strip().replace("=", " ", 1).partition(" ")
        if key.startswith("spark."):
            found[key] = value.strip()
    return found


_OPTIONS = {"--driver-memory": "spark.driver.memory", "--master": "spark.master"}


def _in_arguments(line: str) -> dict[str, str]:
    """Return the settings in a spark-submit command line: master, driver memory and `--conf`."""
    found: dict[str, str] = {}
    words = iter(shlex.split(line))
    for word in words:
        option, has_value, value = word.partition("=")
        if option in {*_OPTIONS, "--conf", "-c"}:
            value = value if has_value else next(words, "")
            key, _, of_key = value.partition("=")
            found[_OPTIONS.get(option, key)] = value if option in _OPTIONS else of_key
    return found
