"""Configures Celery. The row is the queue, and the broker only wakes a worker
(docs/operations.md)."""

import ssl
from typing import Any
from urllib.parse import urlsplit

from wake.server.settings.hosting import CELERY_BROKER_URL

WAKE_USES_RABBITMQ = urlsplit(CELERY_BROKER_URL).scheme in {"amqp", "amqps"}
CELERY_BROKER_USE_SSL: dict[str, Any] | bool = False
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {}
if WAKE_USES_RABBITMQ:
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        # Otherwise a job that a frozen RabbitMQ never gets counts as sent, and workers would not
        # look for due work by themselves.
        "confirm_publish": True,
        "read_timeout": 2,
        "write_timeout": 2,
    }
    CELERY_BROKER_CONNECTION_TIMEOUT = 2
    CELERY_BROKER_HEARTBEAT = 10
    # A quorum queue outlives the node that it is on.
    CELERY_TASK_DEFAULT_QUEUE_TYPE = "quorum"
    CELERY_WORKER_CONSUMER = "wake.server.work.consumer:Consumer"
    # A lost connection is replaced only before a second attempt.
    CELERY_TASK_PUBLISH_RETRY = True
    CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_max": 0}
    if CELERY_BROKER_URL.startswith("amqps"):
        # None is the host of the URL. Without the name, any valid certificate would do.
        CELERY_BROKER_USE_SSL = {"cert_reqs": ssl.CERT_REQUIRED, "server_hostname": None}
elif CELERY_BROKER_URL:
    CELERY_TASK_PUBLISH_RETRY = False
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "visibility_timeout": 300,
        "socket_timeout": 2,
        "socket_connect_timeout": 1,
        "health_check_interval": 10,
        "global_keyprefix": "wake:",
    }
else:
    # No job is sent: the worker is a sweeper, which needs no broker (wake/server/work/sweeper.py).
    CELERY_BROKER_URL = "memory://"
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_TIME_LIMIT = 60
CELERY_TASK_DEFAULT_QUEUE = "wake"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 8
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
# Every wait is a few seconds and is stored in a row, so beat has nothing to remember between two
# runs.
CELERY_BEAT_SCHEDULER = "wake.server.work.beat:AskingScheduler"
CELERY_BEAT_MAX_LOOP_INTERVAL = 1
