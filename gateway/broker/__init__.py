"""The MQTT broker. It runs in its own process.

In a source checkout, `oncegate up` compiles the broker's core. Later starts import the compiled
core instead of its Python sources.
"""

from gateway.broker import compiled_core

compiled_core.use(__path__)
