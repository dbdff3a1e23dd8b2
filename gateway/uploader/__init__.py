"""The session log: events of the journal, exported from the device in sealed segments.

This package turns the broker's journal into sealed segments (docs/formats/session-log.md) and
uploads them to their target. It runs in its own process, which may crash, starve or be killed at
any moment without losing or duplicating an event. Only the broker writes the journal; this package
reads it, and reports its progress through the control socket.

    main.py          the composition root: exporter, uploader and control link in one process
    export/          journal -> segments
    segments/        the files themselves
    upload/          segments -> target
    control_link.py  reports to the broker: status, and what the journal may drop
    priority.py      CPU and disk priorities below the broker's
    faults.py        current failures, for the status and the log
    settings.py      settings and limits
    waiting.py       waits that can end early
"""
