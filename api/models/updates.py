"""Arguments of the commands that update the SD card's system, for administrators."""

from typing import Annotated

from pydantic import Field

from api import limits
from api.models.actions import Given

_Password = Annotated[str, Field(min_length=1, max_length=limits.PASSWORD_BYTES_MAX)]


class InstallUpdate(Given):
    source: Annotated[str, Field(max_length=limits.BUNDLE_ADDRESS_CHARACTERS_MAX)]
    """The https:// address of a signed bundle (`.raucb`), which the card downloads."""
    own_password: _Password
    """The password of the administrator who does it."""


class GoBack(Given):
    own_password: _Password
    """The password of the administrator who does it."""
