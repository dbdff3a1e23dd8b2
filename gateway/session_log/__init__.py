"""The session log: the events of the journal leave the device in sealed segments.

One reason: turn the broker's journal into sealed segments (docs/formats/session-log.md) and bring
them to their target, in a process of its own that may crash, starve or be killed at any moment
without a lost or a doubled event. The broker is the only writer of the journal; this room reads it
and reports through the control socket how far it has got.

    main.py          the composition root: exporter, uploader and control link in one process
    export/          journal -> segments
    segments/        the files themselves
    upload/          segments -> target
    control_link.py  what the broker is sent: status, and what the journal may drop
    priority.py      the process comes behind the broker for processor and disk
    faults.py        what fails at the moment, for the status and the log
    settings.py      settings and limits
    waiting.py       waits that end early
"""
