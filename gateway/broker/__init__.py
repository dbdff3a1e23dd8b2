"""The MQTT broker, which runs in a process of its own.

In a checkout, `oncegate up` builds a compiled core, which is then imported.
"""

from gateway.broker import compiled_core

compiled_core.use(__path__)
