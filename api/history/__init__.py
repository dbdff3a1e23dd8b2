"""History of what the page shows: sensors' quantities, and the gateway's own rates and queues.

``recorder`` asks the observer every 5 seconds. ``readings`` and ``gateway_series`` turn the answer
into readings, ``history`` keeps them in three rings: an hour in steps of 5 seconds, a day in
minutes, a month in quarters of an hour. ``chunks`` is the format on disk (docs/formats/history.md)
and ``chunk_files`` the files. ``machine`` reads the kernel's counters.

A convenience, not the proof: the session log is what audits rely on. A file that is damaged or
cannot be written is reported on the page and never makes a page fail.
"""
