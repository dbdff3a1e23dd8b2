"""Partial updates of an open page: the browser fetches only the parts that have changed.

Templates separate the parts with a comment. The browser's script sends the digests of the parts
that it already has, in the header ``X-Parts``. The response lists the digest and the HTML of each
part. If a part is unchanged, the response contains null instead of the HTML. The script and the
server treat each part as plain text, and do not need to understand its contents.
"""

import hashlib
import json
from typing import Final

from fastapi.responses import Response

from api.problems import retry_headers_of

SEPARATOR: Final = "<!--part-->"
HEADER: Final = "x-parts"
_DIGESTS_MAX: Final = 64
"""Digests that are read from a request, at most. The longest page has about fifteen parts."""


def parts_response(html: str, header: str, *, status_code: int = 200) -> Response:
    """Return the parts of a page as JSON.

    `header` is the request's header ``X-Parts``, with the digests of the parts that the browser
    already has. If a part is unchanged, null replaces its HTML.
    """
    known = header.split(",")[:_DIGESTS_MAX]
    parts = [(_digest_of(part), part) for part in html.split(SEPARATOR)]
    answer = [
        [digest, None if number < len(known) and known[number] == digest else part]
        for number, (digest, part) in enumerate(parts)
    ]
    return Response(
        json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"),
        status_code=status_code,
        headers=retry_headers_of(status_code),
        media_type="application/json",
    )


def _digest_of(part: str) -> str:
    return hashlib.blake2b(part.encode("utf-8", "replace"), digest_size=8).hexdigest()
