"""Verifies a tlog-proof with aics-tlog. Reads a JSON object from stdin: `proof` (the file), `entry`
(the entry as text), `log_key` and `witness_keys`. Writes what it found as JSON."""

from __future__ import annotations

import base64
import json
import sys

import aics_tlog


def main() -> None:
    asked = json.load(sys.stdin)
    head, _, note = asked["proof"].partition("\n\n")
    _, _, index, *hashes = head.split("\n")
    checked = aics_tlog.verify_checkpoint(
        aics_tlog.parse_note(note),
        aics_tlog.parse_vkey(asked["log_key"]),
        [aics_tlog.parse_vkey(key) for key in asked["witness_keys"]],
        quorum=len(asked["witness_keys"]),
    )
    checkpoint = aics_tlog.parse_checkpoint(aics_tlog.parse_note(note).text)
    is_included = aics_tlog.verify_leaf_inclusion(
        asked["entry"].encode(),
        int(index.removeprefix("index ")),
        checkpoint.size,
        [base64.b64decode(line) for line in hashes],
        checkpoint.root,
    )
    sys.stdout.write(json.dumps({"is_signed": checked.ok, "is_included": is_included}))


main()
