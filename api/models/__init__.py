"""Types of the control socket's answers, which the REST interface returns as well.

A value of these types has the form described in ``docs/formats/control-socket.md``: counters are
not negative, times can be shown as a date, numbers are finite. Unknown fields are ignored, so that
a newer broker works with an older page. A missing field is an error, because showing 0 for an
unknown number would be wrong.

``values`` has the base types. ``broker`` and ``sessions`` are the broker's own answers, ``bridge``,
``uploader`` and ``uplink`` the reports of those processes, and ``reports`` the form in which the
broker stores them.
"""
