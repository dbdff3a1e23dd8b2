"""The HTML document around each page. A page loads no other files.

Names of gateways and sensors are made safe for use in HTML, in file names and in links.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
import unicodedata
from html import escape
from importlib.resources import files
from typing import Final

from cloud_jobs.fleet_report.limits import NAME_CHARACTERS_MAX

FLEET_PAGE: Final = "index.html"
GATEWAYS_FOLDER: Final = "gateways"
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories of characters that are invisible or change the direction of text."""
_SLUG_CHARACTERS_MAX: Final = 40
_DIGEST_CHARACTERS: Final = 16
"""64 bits: the probability that two of 1,000 gateways share a digest is below 10^-13."""


def text(value: object, most: int = NAME_CHARACTERS_MAX) -> str:
    """Escape a text from a gateway or client as HTML, and truncate it to `most` characters.

    Invisible characters are replaced by a placeholder. None becomes a dash.
    """
    if value is None:
        return "-"
    shown = str(value)[:most]
    return escape("".join("\ufffd" if unicodedata.category(c) in _HIDDEN else c for c in shown))


def file_of(gateway: str) -> str:
    """Return the file name of a gateway's page.

    The name contains only safe characters. It is in lower case, because some file systems ignore
    case. It ends with a digest, so that two gateways never have the same file name.
    """
    slug = re.sub(r"[^a-z0-9]+", "-", gateway.lower())[:_SLUG_CHARACTERS_MAX].strip("-")
    return f"{slug or 'gateway'}-{_digest(gateway)}.html"


def anchor_of(sensor: str) -> str:
    """Return the HTML id of a sensor's section on its gateway's page."""
    return f"sensor-{_digest(sensor)}"


def _digest(name: str) -> str:
    encoded = name.encode("utf-8", "surrogatepass")
    return hashlib.sha256(encoded).hexdigest()[:_DIGEST_CHARACTERS]


@functools.cache
def _asset(name: str) -> str:
    return (files("cloud_jobs.fleet_report") / "assets" / name).read_text()


def document(title: str, body: str, *, home: str, crumb: str = "", note: str = "") -> str:
    """Return a whole page as HTML.

    Args:
        title: title of the browser's window, as plain text.
        body: contents of the page, as HTML.
        home: relative URL of the fleet's page.
        crumb: HTML to show next to the product's name in the bar at the top.
        note: HTML to show at the end of this bar.
    """
    style, script = _asset("report.css"), _asset("report.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{style}</style></head>"
        '<body><header class="top"><div class="wide">'
        f'<a class="name" href="{home}"><span class="mark" aria-hidden="true"></span>Oncegate</a>'
        f'<p class="gateway">{crumb}</p><p class="answered">{note}</p></div></header>'
        f'<main class="wide">{body}</main><script>{script}</script></body></html>\n'
    )


@functools.cache
def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
