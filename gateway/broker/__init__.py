"""Process: the MQTT broker.

In a checkout, `oncegate up` builds a compiled core, which is then imported.
"""

from gateway.broker import compiled_core

compiled_core.use(__path__)
