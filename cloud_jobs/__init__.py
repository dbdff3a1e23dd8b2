"""Uploaded session logs become tables: each event once, each loss visible.

This room runs in the cloud (or on a laptop), far from the gateway. It shares two file formats with
the device (docs/formats/session-log.md and docs/formats/readings.md) and not one line of code:
a mistake in the writer must not be repeated by its reader.

    main.py        the composition root: ingest, audit
    operations.py  the composition root: gold, gaps, requeue, compact, vacuum
    ingest/        landed files -> batches -> rows, each step once
    tables/        the Delta tables and how they are written
    audit/         the laws of conservation, and gaps
    gold/          ingested tables -> gold tables, each batch once
    fleet_report/  gold tables -> a folder of HTML pages, without Spark
    maintenance/   compact, vacuum, requeue
    spark/         the Spark session and its jars
    reporting.py   what a run's report shows, read from the tables; report.py renders it
    limits.py, settings.py, places.py, errors.py
"""
