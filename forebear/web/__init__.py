"""What pages and programs on this machine are served with: who may come in, how much they may send, how it ends.

`forebear studio` and `forebear serve` share it. It needs Starlette and uvicorn, `pip install 'forebear[web]'`;
`need.py` says so where they are missing, and imports neither.
"""
