"""Writes JSON as rows store it."""

import json

# One for all: json.dumps() would make one for each value.
dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
