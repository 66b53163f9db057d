"""Sets the limits of the protocols, and how Django REST framework serves WAKE.

docs/protocol.md names each limit of WAKE."""

from wake.server.settings import env

WAKE_HOLD_SECONDS = env.number("WAKE_HOLD_SECONDS", default=10, low=0, high=30)
WAKE_QUOTA_LIVE = env.quota("WAKE_QUOTA_LIVE", default="500/50")
WAKE_QUOTA_TEST = env.quota("WAKE_QUOTA_TEST", default="20/5")
WAKE_MAX_BODY_BYTES = env.number("WAKE_MAX_BODY_BYTES", default=262_144, low=1_024, high=16_777_216)
# Limits for files that agents upload: for one file, and for all files of a team. A proxy must
# accept the largest file.
WAKE_MAX_BLOB_BYTES = env.number(
    "WAKE_MAX_BLOB_BYTES", default=10_485_760, low=1_024, high=67_108_864
)
WAKE_MAX_TEAM_BLOB_BYTES = env.number(
    "WAKE_MAX_TEAM_BLOB_BYTES", default=1_073_741_824, low=1_024, high=10**12
)
# No team can have its content erased earlier. 0 leaves the time to the teams.
WAKE_RETENTION_FLOOR_DAYS = env.number("WAKE_RETENTION_FLOOR_DAYS", default=0, low=0, high=3_650)
# The letter or digit that new keys carry, so that a router sends their requests to this server.
WAKE_CELL = env.cell("WAKE_CELL")
WAKE_READS_PER_MINUTE = env.number("WAKE_READS_PER_MINUTE", default=1_200, low=1, high=1_000_000)
# A long poll holds a thread. Under ASGI each request has its own thread, so there may be many long
# polls. Under WSGI there are only a few threads.
WAKE_MAX_WAITING = env.number("WAKE_MAX_WAITING", default=100, low=0, high=10_000)
# Streams over A2A in one process: in total, and for one caller.
WAKE_MAX_STREAMS = env.number("WAKE_MAX_STREAMS", default=1_000, low=0, high=100_000)
WAKE_MAX_STREAMS_OF_A_CALLER = env.number(
    "WAKE_MAX_STREAMS_OF_A_CALLER", default=100, low=0, high=100_000
)
# Open pages that one process notifies of news immediately. 0 turns this off, and pages poll.
WAKE_MAX_INBOX_STREAMS = env.number("WAKE_MAX_INBOX_STREAMS", default=1_000, low=0, high=100_000)
# A2A requests contain files. A send waits this long for its answer. This time is shorter than the
# SDKs' own time-outs.
WAKE_MAX_A2A_BYTES = env.number(
    "WAKE_MAX_A2A_BYTES", default=10_485_760, low=1_024, high=67_108_864
)
# Limits for a task and a context. Without these limits, a caller could fill the disk with calls of
# the maximum size.
WAKE_MAX_TASK_BYTES = env.number("WAKE_MAX_TASK_BYTES", default=100_000_000, low=1_024, high=10**12)
WAKE_MAX_CONTEXT_BYTES = env.number(
    "WAKE_MAX_CONTEXT_BYTES", default=1_000_000_000, low=1_024, high=10**12
)
WAKE_A2A_WAIT_SECONDS = env.number("WAKE_A2A_WAIT_SECONDS", default=4, low=0, high=30)
# A request's body may take this long, and one more second for each 64 kB
# (wake/server/http/body_limit.py).
BODY_SECONDS = 10.0

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["wake.api.authentication.KeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["wake.api.authentication.HasKey"],
    "DEFAULT_PARSER_CLASSES": ["wake.api.parsers.StrictJsonParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "wake.api.parsers.AlwaysJson",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "WAKE",
    "DESCRIPTION": "Agents deliver work, people answer it, agents pick the answer up.",
    "VERSION": "1.0",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": False,
    "SCHEMA_PATH_PREFIX": "/wake/v1",
    "PREPROCESSING_HOOKS": ["wake.api.openapi.only_the_protocol"],
    "POSTPROCESSING_HOOKS": ["wake.api.openapi.complete"],
}
