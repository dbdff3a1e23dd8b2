import pytest

from gateway.uploader.upload import store_variables
from gateway.uploader.upload.target_error import TargetError


@pytest.mark.parametrize(
    "address",
    [
        "minio:9000", "minio", "", "http://", "https://", "//minio", "http:/minio:9000",
        "http//minio:9000", " http://minio:9000", "http://minio:9000 ", "http://minio:9000\r",
        '"http://minio:9000"', "http://mi nio:9000", "http://minio:99999", "http://minio:0",
        "http://[::1", "http://münchen:9000", "ftp://minio:9000",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_ENDPOINT_URL_S3"])
def test_an_address_that_is_no_url_is_refused_and_the_variable_named(
    monkeypatch: pytest.MonkeyPatch, address: str, name: str
) -> None:
    monkeypatch.setenv(name, address)
    with pytest.raises(TargetError, match=rf"{name} is .*Check {name}"):
        store_variables.check("s3://logs")
    store_variables.check("gs://logs")


@pytest.mark.parametrize(
    "address",
    [
        "http://minio:9000", "https://s3.eu-central-1.amazonaws.com/", "HTTP://127.0.0.1:9000",
        "http://[fd00::1]:9000", "https://accountid.r2.cloudflarestorage.com/sub/path",
    ],
)  # fmt: skip
def test_the_address_of_a_store_is_accepted(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    store_variables.check("s3://logs")


@pytest.mark.parametrize("value", ["eu-central-1\r", "eu central", "eu-central-1 ", "ä"])
@pytest.mark.parametrize("name", ["AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN"])
def test_a_value_with_a_space_or_line_end_is_refused_without_the_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(TargetError, match=f"Check {name}") as refusal:
        store_variables.check("s3a://logs")
    assert value not in str(refusal.value)


def test_a_password_in_an_address_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://me:geheim@mi nio:9000")
    with pytest.raises(TargetError) as refusal:
        store_variables.check("s3://logs")
    assert "geheim" not in str(refusal.value)


def test_an_address_of_azure_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", "azurite:10000")
    with pytest.raises(TargetError, match="AZURE_STORAGE_ENDPOINT"):
        store_variables.check("az://logs")
