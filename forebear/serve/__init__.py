"""A twin behind an address, for programs: its methods as JSON over HTTP, with a schema and a page to try them.

`operations.py` has the methods as plain functions of a twin, `gather.py` puts what comes at the same time together
into few compiled calls, `application.py` answers requests.
"""
