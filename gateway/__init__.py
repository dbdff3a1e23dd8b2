"""The MQTT gateway package.

In a checkout, `oncegate up` builds a compiled core, which is then imported.
"""

from gateway import compiled_core

compiled_core.use(__path__)
