"""Says where the checkpoints of the log are sent (docs/log.md, Where checkpoints go)."""

import os

from wake.server.settings import env

WAKE_CHECKPOINT_WEBHOOK = os.environ.get("WAKE_CHECKPOINT_WEBHOOK", "").strip()
WAKE_CHECKPOINT_WEBHOOK_SECRET = env.secret_text("WAKE_CHECKPOINT_WEBHOOK_SECRET")
# The remote may be anything that the `git` program takes: a path, or an address with ssh or https.
WAKE_CHECKPOINT_GIT = os.environ.get("WAKE_CHECKPOINT_GIT", "").strip()
# The URL of a time-stamp authority (RFC 3161), and a file with its root certificates as PEM.
WAKE_CHECKPOINT_TIMESTAMPS = os.environ.get("WAKE_CHECKPOINT_TIMESTAMPS", "").strip()
WAKE_CHECKPOINT_TIMESTAMP_ROOTS = os.environ.get("WAKE_CHECKPOINT_TIMESTAMP_ROOTS", "").strip()
# Witnesses as `verifier-key URL`, with commas between them.
WAKE_CHECKPOINT_WITNESSES = env.words("WAKE_CHECKPOINT_WITNESSES")
