"""An object store on the host for the guest's session log, and the Spark job that ingests the
uploaded segments."""

from collections import Counter
from pathlib import Path

from cloud_jobs.main import ingest
from cloud_jobs.settings import IngestSettings
from cloud_jobs.spark.session import spark_session
from tests.image.boot.machine import HOST, HOST_PORT, Machine
from tests.image.boot.subscriber import Reading
from tests.uploader.bucket import SECRET, Bucket

UPLOAD = f"""
[upload]
target = "s3://cellar/logs"
[upload_environment]
AWS_ENDPOINT = "http://{HOST}:{HOST_PORT}"
AWS_ALLOW_HTTP = "true"
AWS_REGION = "eu-central-1"
AWS_ACCESS_KEY_ID = "AKIAIOSFODNN7EXAMPLE"
AWS_SECRET_ACCESS_KEY = "{SECRET}"
"""
"""Lines for gateway.toml with the address and the credentials of the bucket on the host."""


def stop_and_upload(machine: Machine) -> None:
    """Stop the gateway in its order.

    The uploader seals and uploads the rest of the log before it ends.
    """
    machine.run("systemctl stop oncegate-broker oncegate-bridge && systemctl stop oncegate-upload")


def ingested(bucket: Bucket, folder: Path) -> Counter[Reading]:
    """Ingest the uploaded segments, and return how often each reading is in the table.

    Asserts that no segment is missing.
    """
    landed = folder / "landed"
    for path, data in bucket.objects.items():
        file = landed / path.removeprefix("/cellar/logs/").lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    settings = IngestSettings(source=str(landed), tables=str(folder / "tables"))
    with spark_session(None, lambda _: None, {"spark.master": "local[2]"}) as spark:
        report = ingest(spark, settings, lambda _: None, lambda _: None)
        rows = spark.read.format("delta").load(f"{settings.tables}/sensor_readings").collect()
    assert not report.gaps
    return Counter(
        (row["device"], row["device_boot"], row["device_sequence"], row["quantity"]) for row in rows
    )
