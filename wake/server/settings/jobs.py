"""Configures Celery. The row is the queue, and the broker only wakes a worker
(docs/operations.md)."""

from wake.server.settings.hosting import REDIS_URL

if REDIS_URL:
    CELERY_BROKER_URL = REDIS_URL
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
CELERY_TASK_PUBLISH_RETRY = False
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
