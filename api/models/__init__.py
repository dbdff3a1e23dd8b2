"""Types of the control socket's responses, which the REST interface returns as well.

``docs/formats/control-socket.md`` describes the responses. Negative counters, invalid times and
numbers that are not finite are rejected. Unknown fields are ignored, so that an older page works
with a newer broker. A missing field is an error, because it would be wrong to show 0 for an unknown
value.

``values`` has the base types. ``broker`` and ``sessions`` are the broker's own responses.
``bridge``, ``uploader`` and ``uplink`` are the reports of those processes, and ``reports`` defines
how the broker stores reports.
"""
