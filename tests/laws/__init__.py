"""The laws of conservation as one table of cases, for both implementations.

`gateway.tools.audit` on the device (tests/tools/audit/test_run.py) and `cloud_jobs.audit` in Spark
(tests/cloud_jobs/audit/test_run.py) judge every case of `cases.CASES`. A case is a log, as data,
and the exceptions that have to be found in it. Nothing else implements the laws.
"""
