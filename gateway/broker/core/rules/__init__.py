"""The rules of MQTT: how each packet changes the state, and how it is answered.

Rules are functions over one `Core`. `receive` decodes bytes, `dispatch` selects the rule for a
packet, and the folders hold the rules by what they do. A rule calls only rules below it.
"""
