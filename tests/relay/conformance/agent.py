"""Implements an agent that is run as a shell command. The id of a message decides what the agent
does with that message.

`wake connect` runs the agent. The agent reads one JSON object on stdin, and prints one JSON object
on stdout. The ids that begin with `tck-` are from the scenarios of the official conformance kit for
1.0. The kit's messages of 0.3 have `-message-` in their ids. The tasks of these messages must still
be open when the kit continues them.
"""

import json
import sys
import time
from typing import Any

HELLO = "Hello from TCK"
TEXT = {"text": "Generated text content"}
FILE = {"raw": "ZG9uZQ==", "filename": "output.txt", "mediaType": "text/plain"}
URL = {"url": "https://example.com/output.txt", "filename": "output.txt", "mediaType": "text/plain"}
DATA = {"data": {"key": "value", "count": 42}, "mediaType": "application/json"}
PROPOSAL = {"title": "Release notes", "audience": "everybody"}


def completed(*parts: dict[str, Any]) -> dict[str, Any]:
    return {
        "state": "completed",
        "text": HELLO,
        "artifacts": [{"artifactId": "output", "name": "output", "parts": list(parts)}],
    }


def report(**what: Any) -> None:
    sys.stdout.write(json.dumps({"state": "working", **what}) + "\n")
    sys.stdout.flush()


def main() -> None:
    given = json.load(sys.stdin)
    asked: str = given["messageId"]

    def is_about(prefix: str) -> bool:
        return asked.startswith(prefix)

    if given["decision"]:
        decision = given["decision"]
        answer = completed({"data": decision["edited_content"] or {"status": decision["status"]}})
    elif is_about("tck-propose"):
        parts = [{"text": "Is this the right audience?"}, {"data": PROPOSAL}]
        answer = {"state": "input_required", "message": {"role": "agent", "parts": parts}}
    elif is_about("tck-auth-required"):
        answer = {"state": "auth_required", "text": "Who are you?"}
    elif is_about("tck-input-required") or ("-message-" in asked and not is_about("tck-")):
        answer = {"state": "input_required", "text": "Which colour?"}
    elif is_about("tck-artifact-file-url"):
        answer = completed(URL)
    elif is_about("tck-artifact-file"):
        answer = completed(FILE)
    elif is_about("tck-artifact-data"):
        answer = completed(DATA)
    elif is_about("tck-artifact-text"):
        answer = completed(TEXT)
    elif is_about("tck-message-response"):
        answer = {"direct": True, "text": "Direct message response", "state": "completed"}
    elif is_about("tck-reject-task"):
        answer = {"state": "rejected", "text": "rejected"}
    elif is_about("tck-stream-steps"):
        for number in range(1, 4):
            report(text=f"Step {number}")
            time.sleep(1.2)  # a connector sends one report a second
        answer = completed(TEXT)
    elif is_about("tck-stream-artifact-chunked"):
        for text in ("chunk-1 ", "chunk-2"):
            chunk = {"artifactId": "log", "append": True, "parts": [{"text": text}]}
            report(artifact=chunk | {"lastChunk": text == "chunk-2"})
            time.sleep(0.5)
        answer = {"state": "completed", "text": HELLO}
    elif is_about("tck-delayed-complete"):
        time.sleep(2)
        answer = {"state": "completed", "text": "Done after delay"}
    else:
        answer = {"state": "completed", "text": HELLO}
    json.dump(answer, sys.stdout)


main()
