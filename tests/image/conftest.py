"""Collection of the boot tests only if ONCEGATE_IMAGE names an image: they take minutes."""

import os

collect_ignore = [] if "ONCEGATE_IMAGE" in os.environ else ["boot"]
