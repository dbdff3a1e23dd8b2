"""Uploads to a bucket or container (S3, GCS, Azure, or HTTP PUT) with the library obstore.

Credentials come from environment variables (AWS_*, GOOGLE_*, AZURE_*). They are never stored or
passed on. A segment is uploaded by one PUT request, so it is either complete or missing at the
target. Repeating the request is safe, because the name contains the SHA-256 of the bytes.
"""

from __future__ import annotations

import hashlib
import os
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import from_url

from gateway.uploader.settings import CONNECT_SECONDS_MAX, UPLOAD_SECONDS_MAX
from gateway.uploader.upload import store_variables
from gateway.uploader.upload.daemon_thread import in_daemon_thread
from gateway.uploader.upload.store_answer import is_answer, sentence_and_kind_of
from gateway.uploader.upload.target_error import TargetError

if TYPE_CHECKING:
    # Names that obstore provides for type checkers only.
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

OBJECT_SCHEMES = frozenset({"s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "http", "https"})

# The uploader has its own, longer backoff: the library only covers a lost packet.
_RETRIES: RetryConfig = {"max_retries": 1, "retry_timeout": timedelta(seconds=30)}
_CLIENT: ClientConfig = {
    "timeout": timedelta(seconds=UPLOAD_SECONDS_MAX),
    "connect_timeout": timedelta(seconds=CONNECT_SECONDS_MAX),
    "user_agent": "oncegate",
}

_Failures = (BaseError, OSError, ValueError)


class ObjectStoreTarget:
    def __init__(self, url: str, *, checksum_header: bool = True) -> None:
        self._store = _store_of(url, checksum_header=checksum_header)

    async def put(self, name: str, data: bytes) -> None:
        # obstore's own coroutines are not used. Threads of their runtime may still use Python while
        # the interpreter exits, and abort it (seen in every sixth process after a request).
        try:
            await in_daemon_thread(partial(self._put, name, data))
        except BaseException as problem:
            # Code in Rust panics at values that `store_variables` does not know. The class cannot
            # be imported, and is not an Exception: it would end the uploader.
            if type(problem).__name__ != "PanicException":
                raise
            raise _target_error(problem) from problem

    def _put(self, name: str, data: bytes) -> None:
        try:
            if self._has(name, data):
                return
        except _Failures as problem:
            # A response to HEAD has no body; the store's reason comes with its response to PUT.
            if not is_answer(problem):
                raise _target_error(problem) from problem
        try:
            result = obstore.put(self._store, name, data, use_multipart=False, mode="overwrite")
            if _is_md5_of(data, result.get("e_tag")):
                return
            size = self._size(name)
        except _Failures as problem:
            raise _target_error(problem) from problem
        # A device that may write but not read (which is good practice) cannot check the size. Then
        # the success of the PUT must be sufficient.
        if size is not None and size != len(data):
            raise TargetError(
                f"{name} has {size} bytes at the target, {len(data)} were sent", "size"
            )

    def _has(self, name: str, data: bytes) -> bool:
        """Return True if the target already contains an object with this name and these bytes.

        This happens if the process crashed after uploading the segment, but before moving it to
        log/sent.
        """
        if self._size(name) != len(data):
            return False
        return bytes(obstore.get(self._store, name).bytes()) == data

    def _size(self, name: str) -> int | None:
        """Return the size of an object at the target.

        Return None if the object does not exist, or if access to it is denied.
        """
        try:
            meta = obstore.head(self._store, name)
        except (FileNotFoundError, PermissionDeniedError, UnauthenticatedError):
            return None
        return meta["size"]


def _store_of(url: str, *, checksum_header: bool) -> ObjectStore:
    store_variables.check(url)
    # Without TLS only if configured: in the URL, or by the object stores' usual variable.
    is_plain = url.startswith("http:") or os.environ.get("AWS_ALLOW_HTTP", "").lower() == "true"
    client: ClientConfig = {**_CLIENT, "allow_http": is_plain}
    try:
        if url.startswith(("s3:", "s3a:")) and checksum_header:
            # The server rejects bytes that changed in transit.
            return from_url(
                url,
                client_options=client,
                retry_config=_RETRIES,
                config={"checksum_algorithm": "sha256"},
            )
        return from_url(url, client_options=client, retry_config=_RETRIES)
    except _Failures as problem:
        raise _target_error(problem) from problem


def _target_error(problem: BaseException) -> TargetError:
    return TargetError(*sentence_and_kind_of(problem))


def _is_md5_of(data: bytes, e_tag: str | None) -> bool:
    """Return True if the ETag is the MD5 of `data`. Many stores return it after a simple PUT."""
    digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
    return e_tag is not None and e_tag.strip('"').lower() == digest
