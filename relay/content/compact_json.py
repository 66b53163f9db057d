"""Writes JSON as rows store it."""

import json

# One encoder for all calls: json.dumps() makes a new one each time.
dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
