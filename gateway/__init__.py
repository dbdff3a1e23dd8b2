"""The gateway; in a checkout its core is imported compiled, once `oncegate up` has built it."""

from gateway import compiled_core

compiled_core.use(__path__)
