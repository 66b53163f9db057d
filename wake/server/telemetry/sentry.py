"""Sends errors to Sentry, by the same rule as lines of the log: without content."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import sentry_sdk
from sentry_sdk.integrations.atexit import AtexitIntegration
from sentry_sdk.integrations.logging import LoggingIntegration

from wake.api import log_context
from wake.server.telemetry.lines import chain_of, described, message_of

if TYPE_CHECKING:
    from sentry_sdk.types import Event, Hint

# An event keeps these members. All others may have content: the request, its person, earlier lines.
KEPT = {
    *("event_id", "timestamp", "platform", "level", "logger", "exception", "sdk"),
    *("release", "environment", "server_name"),
}


def start(dsn: str, **options: Any) -> None:
    """Begins to send each line of the log at ERROR and above, with its traceback. No integration
    for Django or Celery is used, because both log their errors, and the integrations collect
    requests, arguments and variables. The SDK collects no data about people by default, and warns
    about the option that says so."""
    sentry_sdk.init(
        dsn,
        include_local_variables=False,
        max_request_body_size="never",
        max_breadcrumbs=0,
        before_send=without_content,
        default_integrations=False,
        auto_enabling_integrations=False,
        auto_session_tracking=False,
        integrations=[LoggingIntegration(level=None), AtexitIntegration(lambda *_: None)],
        **options,
    )


def without_content(event: Event, hint: Hint) -> Event:
    """Returns the event with the message of its line of the log, and each error as the log
    describes it. An event has the same facts as a line, as tags."""
    cleaned: Any = {name: value for name, value in event.items() if name in KEPT}
    record = hint.get("log_record")
    cleaned["logentry"] = {"message": message_of(record) if record else "An error"}
    cleaned["tags"] = {name: str(fact) for name, fact in log_context.current().logged().items()}
    _, error, _ = hint.get("exc_info") or (None, None, None)
    # Sentry has the oldest error first.
    texts = [described(each) for each, _ in chain_of(error)][::-1]
    values = cleaned.get("exception", {}).get("values", [])
    for value, text in zip_longest(values, texts if len(texts) == len(values) else ()):
        value["value"] = _without_type(text or "")
        value.pop("mechanism", None)
        for frame in (value.get("stacktrace") or {}).get("frames", ()):
            frame.pop("vars", None)
    return cleaned  # type: ignore[no-any-return]


def _without_type(text: str) -> str:
    """Returns the rest of an error's description. Sentry shows the type beside it."""
    name, colon, message = text.partition(": ")
    return message if colon else name.partition(" ")[2]
