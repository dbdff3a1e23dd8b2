"""Jobs that load uploaded session logs into tables, store each event once, and find losses.

This package runs in the cloud (or on a laptop), not on the gateway. It reads two file formats of
the gateway (docs/formats/session-log.md and docs/formats/readings.md). It shares no code with the
gateway, so that a bug in the writer is not repeated in the reader.

    main.py        the composition root of ingest and audit
    operations.py  the composition root of gold, gaps, requeue, compact, vacuum
    ingest/        verifies uploaded files and stores their rows, in batches of idempotent steps
    tables/        the Delta tables and how they are written
    audit/         checks that no message was lost or repeated, and finds gaps in the log
    gold/          computes gold tables from ingested tables; each batch is processed once
    fleet_report/  writes HTML pages from gold tables to a folder, without Spark
    maintenance/   compact, vacuum, requeue
    spark/         the Spark session and its jars
    reporting.py   reads the contents of a run's report from the tables; report.py defines them
    limits.py, settings.py, places.py, errors.py
"""
