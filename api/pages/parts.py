"""Pages in parts: an open page fetches what has changed since its last answer.

Templates separate the parts with a comment. The script sends the digests of the parts that it has
as ``X-Parts``, and gets a list with a digest and the text of each part, or null where it is the
same. It puts them together again, so that neither side knows what a part is about.
"""

import hashlib
import json
from typing import Final

from fastapi.responses import Response

from api.problems import retry_headers_of

SEPARATOR: Final = "<!--part-->"
HEADER: Final = "x-parts"
_DIGESTS_MAX: Final = 64
"""Parts of a page: the longest has a section for each kind of fact, some fifteen."""


def parts_response(html: str, header: str, *, status_code: int = 200) -> Response:
    """Return the parts of a page, without those that the caller has."""
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
