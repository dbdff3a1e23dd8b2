"""Settings that were set before the program began are found, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloud_jobs.spark.jars import needed_for
from cloud_jobs.spark.outside import is_local, is_untouched, user_settings_in
from cloud_jobs.spark.session import _settings

DEFAULTS = "# a comment\nspark.master  spark://head:7077\nspark.driver.memory=3g\nother 1\n"


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    (tmp_path / "spark-defaults.conf").write_text(DEFAULTS)
    return tmp_path


def test_a_machine_where_nothing_is_set_is_its_own_master_and_tries_tasks_again(
    tmp_path: Path,
) -> None:
    found = user_settings_in({"SPARK_CONF_DIR": str(tmp_path)})
    assert found == {}
    assert is_local(found)
    assert _settings(tmp_path, [], found, needed_for([]))["spark.master"] == "local[*,4]"
    chosen = {"spark.master": "local[3]"}
    assert "spark.master" not in _settings(tmp_path, [], chosen, needed_for([]))


def test_the_file_of_defaults_and_the_arguments_are_read(conf: Path) -> None:
    of_file = user_settings_in({"SPARK_CONF_DIR": str(conf)})
    assert of_file == {"spark.master": "spark://head:7077", "spark.driver.memory": "3g"}
    assert not is_local(of_file)
    line = "--master=local[3] --conf spark.sql.shuffle.partitions=9 -c spark.a=b=c pyspark-shell"
    found = user_settings_in({"SPARK_CONF_DIR": str(conf), "PYSPARK_SUBMIT_ARGS": line})
    assert found["spark.master"] == "local[3]"
    assert found["spark.sql.shuffle.partitions"] == "9"
    assert found["spark.a"] == "b=c"


def test_what_was_set_is_not_set_again_and_extensions_are_added_to(tmp_path: Path) -> None:
    outside = {
        "spark.sql.shuffle.partitions": "9",
        "spark.sql.extensions": "org.example.Other",
        "spark.jars": "/other.jar",
    }
    found = _settings(tmp_path, [tmp_path / "delta.jar"], outside, needed_for([]))
    assert "spark.sql.shuffle.partitions" not in found
    assert found["spark.sql.extensions"].startswith("org.example.Other,io.delta.")
    assert found["spark.driver.extraClassPath"] == f"{tmp_path}/delta.jar"
    several = outside | {"spark.master": "local-cluster[2,1,1024]"}
    found = _settings(tmp_path, [tmp_path / "delta.jar"], several, needed_for([]))
    assert found["spark.jars"] == f"/other.jar,file://{tmp_path}/delta.jar"
    of_cluster = _settings(tmp_path, [], {"spark.master": "spark://head:7077"}, needed_for([]))
    assert "spark.driver.host" not in of_cluster


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SPARK_REMOTE", "sc://host"),
        ("PYSPARK_GATEWAY_PORT", "1"),
        ("PYSPARK_SUBMIT_ARGS", "--properties-file x pyspark-shell"),
        ("HADOOP_CONF_DIR", "/etc/hadoop"),
        ("SPARK_CONF_DIR", "OTHER"),
    ],
)
def test_a_spark_that_may_have_another_file_system_is_not_untouched(
    tmp_path: Path, variable: str, value: str
) -> None:
    empty, other = tmp_path / "empty", tmp_path / "other"
    empty.mkdir()
    other.mkdir()
    plain = {"SPARK_CONF_DIR": str(empty)}
    assert is_untouched(plain)
    (other / "spark-defaults.conf").write_text("spark.hadoop.fs.defaultFS hdfs://name:8020\n")
    assert not is_untouched(plain | {variable: value.replace("OTHER", str(other))})
    (empty / "core-site.xml").touch()
    assert not is_untouched(plain)
