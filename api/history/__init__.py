"""History of the values on the page: sensors' quantities, and the gateway's own rates and queues.

The module ``recorder`` queries the gateway's state every 5 seconds. ``readings`` and
``gateway_series`` extract the values to record. ``history`` stores them in three rings: an hour in
steps of 5 seconds, a day in steps of a minute, and a month in steps of 15 minutes. ``chunks``
defines the format on disk (docs/formats/history.md), and ``chunk_files`` manages the files.
``api.status.machine`` reads the kernel's counters.

The history is only a convenience. Audits use the session log. If a file is damaged or cannot be
written, the page shows this problem, and all pages still work.
"""
