"""The contract of the control socket as types, which are also what the REST interface answers.

Promise: a value of these types has the shape of ``docs/formats/control-socket.md``: counters are
not negative, times can be shown as a date, numbers are finite. Fields that the contract does not
know are ignored, so that a newer broker can talk to an older page; a missing one is an error,
because a page that shows 0 for an unknown number is wrong.

``values`` has what they are made of, ``broker`` and ``sessions`` are the broker's own answers,
``bridge``, ``uploader`` and ``uplink`` what those processes report, and ``reports`` how the broker
keeps that.
"""
