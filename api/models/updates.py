"""Arguments of the administrators' commands for updating the system on the SD card."""

from typing import Annotated

from pydantic import Field

from api import limits
from api.models.actions import Given
from api.models.values import Password


class InstallUpdate(Given):
    source: Annotated[str, Field(max_length=limits.BUNDLE_ADDRESS_CHARACTERS_MAX)]
    """The https:// address of a signed bundle (`.raucb`), which the card downloads."""
    own_password: Password
    """The password of the administrator who installs the update."""


class GoBack(Given):
    own_password: Password
    """The password of the administrator who sends the request."""
