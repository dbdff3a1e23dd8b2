"""The session log: events of the journal, exported from the device in sealed segment files.

This package converts the broker's journal to sealed segments (docs/formats/session-log.md) and
uploads them to their target. It runs in a separate process, which can crash, get no CPU time or be
killed at any moment without losing or duplicating an event. Only the broker writes the journal.
This package reads it, and reports its progress to the broker through the control socket.

    main.py          the composition root: exporter, uploader and control link in one process
    export/          journal -> segments
    segments/        the segment files
    upload/          segments -> target
    control_link.py  reports to the broker: status, and which events are exported
    priority.py      CPU and disk priorities lower than the broker's
    faults.py        current failures, for the status and the log
    settings.py      settings and limits
    waiting.py       waits that can end early
"""
