"""Types of the control socket's responses, which the REST interface returns as well.

``docs/formats/control-socket.md`` describes the responses. Counters must not be negative, times
must be valid dates, and numbers must be finite. Unknown fields are ignored, so that a newer broker
works with an older page. A missing field is an error, because showing 0 for an unknown value would
be wrong.

``values`` has the base types. ``broker`` and ``sessions`` are the broker's own responses.
``bridge``, ``uploader`` and ``uplink`` are the reports of those processes, and ``reports`` defines
how the broker stores reports.
"""
