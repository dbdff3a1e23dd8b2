"""The rules of MQTT: what each packet changes and how it is answered."""
