"""The audit checks (rules that a log must fulfil if no message was lost) as one table of cases.

Both implementations judge every case of `cases.CASES`: `gateway.tools.audit` on the device
(tests/tools/audit/test_run.py) and `cloud_jobs.audit` in Spark
(tests/cloud_jobs/audit/test_run.py). A case is a log, as data, and the exceptions that an audit
must find in it.
"""
