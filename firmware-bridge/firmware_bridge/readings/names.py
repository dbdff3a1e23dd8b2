"""Names of devices and quantities: one topic level and one part of a SenML name at once.

RFC 8428 section 4.5.1 allows letters, digits and `- : . / _`, beginning with a letter or digit;
`/` is left out because it would open a new topic level.
"""

import re

# Topic `sensors/<device>/<quantity>` stays far below every broker's topic limit.
NAME_CHARACTERS_MAX = 64
NAME_SHAPE = "1 to 64 letters, digits, '.', ':', '_' or '-', beginning with a letter or digit"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:_-]{0,63}")


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None
