"""Serves the FastAPI example of docs/gates.md. The arguments are the folder of `example.py` and the
port."""

from __future__ import annotations

import sys

import uvicorn

folder, port = sys.argv[1:]
sys.path.insert(0, folder)
uvicorn.run("example:app", host="127.0.0.1", port=int(port), log_level="warning")
