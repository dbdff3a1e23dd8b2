"""Keys and values that Home Assistant accepts, copied from the package `homeassistant` 2025.1.4 on
PyPI.

From components/mqtt (abbreviations.py, schemas.py, discovery.py, sensor.py, binary_sensor.py),
components/sensor/const.py (`DEVICE_CLASS_UNITS`, `DEVICE_CLASS_STATE_CLASSES`) and const.py. Only
the part that our descriptions may use.
"""

DEVICE_DISCOVERY_KEYS = {
    "dev": "device",
    "o": "origin",
    "cmps": "components",
    "avty": "availability",
    "avty_mode": "availability_mode",
    "stat_t": "state_topic",
}
DEVICE_KEYS = {
    "ids": "identifiers",
    "name": "name",
    "sw": "sw_version",
    "mdl": "model",
    "mf": "manufacturer",
    "sn": "serial_number",
    "cu": "configuration_url",
}
ENTITY_CATEGORIES = {"diagnostic"}
"""Categories allowed for a sensor; `config` is not."""
ORIGIN_KEYS = {"name": "name", "sw": "sw_version", "url": "support_url"}
AVAILABILITY_KEYS = {"t": "topic", "pl_avail": "payload_available"}
AVAILABILITY_MODES = {"all", "any", "latest"}
SENSOR_KEYS = {
    "p": "platform",
    "name": "name",
    "uniq_id": "unique_id",
    "stat_t": "state_topic",
    "val_tpl": "value_template",
    "dev_cla": "device_class",
    "unit_of_meas": "unit_of_measurement",
    "stat_cla": "state_class",
    "ent_cat": "entity_category",
}
BINARY_SENSOR_KEYS = {
    "p": "platform",
    "name": "name",
    "uniq_id": "unique_id",
    "stat_t": "state_topic",
    "val_tpl": "value_template",
    "pl_on": "payload_on",
    "pl_off": "payload_off",
    "dev_cla": "device_class",
    "ent_cat": "entity_category",
    "json_attr_t": "json_attributes_topic",
}
DISCOVERY_TOPIC = (
    r"(?P<component>\w+)/(?:(?P<node_id>[a-zA-Z0-9_-]+)/)"
    r"?(?P<object_id>[a-zA-Z0-9_-]+)/config"
)

MEASUREMENT = {"measurement"}
TOTALS = {"total", "total_increasing"}
ALL = MEASUREMENT | TOTALS
LENGTHS = {"mm", "cm", "m", "km", "in", "ft", "yd", "mi", "nmi"}
PRESSURES = {"Pa", "hPa", "kPa", "bar", "cbar", "mbar", "mmHg", "inHg", "psi"}
ENERGIES = {"J", "kJ", "MJ", "GJ", "mWh", "Wh", "kWh", "MWh", "GWh", "TWh"}
VOLUMES = {"ft³", "CCF", "m³", "L", "mL", "gal", "fl. oz."}
SPEEDS = {"Beaufort", "ft/s", "in/s", "m/s", "km/h", "kn", "mph", "mm/s"}
SENSOR_CLASSES: dict[str, tuple[set[str | None], set[str]]] = {
    "apparent_power": ({"VA"}, MEASUREMENT),
    "battery": ({"%"}, MEASUREMENT),
    "current": ({"mA", "A"}, MEASUREMENT),
    "distance": ({*LENGTHS}, ALL),
    "duration": ({"d", "h", "min", "s", "ms"}, ALL),
    "energy": ({*ENERGIES}, TOTALS),
    "gas": ({"CCF", "ft³", "m³"}, TOTALS),
    "water": ({"CCF", "ft³", "gal", "L", "m³"}, TOTALS),
    "frequency": ({"Hz", "kHz", "MHz", "GHz"}, MEASUREMENT),
    "humidity": ({"%"}, MEASUREMENT),
    "illuminance": ({"lx"}, MEASUREMENT),
    "irradiance": ({"W/m²"}, MEASUREMENT),
    "ph": ({None}, MEASUREMENT),
    "power": ({"W", "kW", "MW", "GW", "TW"}, MEASUREMENT),
    "pressure": ({*PRESSURES}, MEASUREMENT),
    "reactive_power": ({"var"}, MEASUREMENT),
    "signal_strength": ({"dB", "dBm"}, MEASUREMENT),
    "speed": ({*SPEEDS}, MEASUREMENT),
    "temperature": ({"°C", "°F", "K"}, MEASUREMENT),
    "voltage": ({"µV", "mV", "V"}, MEASUREMENT),
    "volume": ({*VOLUMES}, TOTALS),
    "volume_flow_rate": ({"m³/h", "ft³/min", "L/min", "gal/min", "mL/s"}, MEASUREMENT),
    "weight": ({"g", "kg", "mg", "µg", "oz", "lb", "st"}, ALL),
}
"""The units and the state classes that each device class allows."""
