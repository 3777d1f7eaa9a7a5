"""`forebear studio`: from a file to a report on a page of one's own machine.

`app.py` answers the browser. `reader.py` and `worker.py` are processes of their own, which look at tables and make
runs, so that the server stays live, a run can be ended like any process, and what one run takes is given back.
What is to be kept stands in run folders, the same as those of the command line, and in small files beside them.
"""
