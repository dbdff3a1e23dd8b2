"""The rules of MQTT: how each packet changes the state, and how it is answered."""
