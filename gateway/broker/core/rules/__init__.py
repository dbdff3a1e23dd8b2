"""The rules of MQTT: how each packet changes the state, and how the broker responds to it.

Rules are functions that take a `Core`. The module `receive` decodes bytes, and `dispatch` selects
the rule for a packet. Each folder contains the rules for one task. The modules form layers, and a
rule calls only rules in lower layers.
"""
