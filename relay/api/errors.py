"""Turns exceptions into JSON-RPC errors. No other module knows which code an exception has (A2A
1.0, 5.4)."""

from __future__ import annotations

import logging
from http import HTTPStatus

from django.core.exceptions import SuspiciousOperation
from django.http import HttpResponse

from accounts.access.moves import TeamMoved, TeamMoving
from accounts.limits.throttles import TooManyRequests
from database import outages
from database.encryption import Unreadable
from database.idempotency import IdempotencyConflict
from relay.api import methods
from relay.api.calls import UnsupportedOperation
from relay.protocol import dialects, jsonrpc, stream_events
from relay.protocol.fields import InvalidParams
from relay.streams.places import TooManyStreams
from relay.tasks import lifecycle, pushes, room, sending
from wake.api import event_streams, log_context
from wake.api.errors import (
    MESSAGES,
    MOVED_TO,
    RETRY_MOVING_AFTER,
    RETRY_OUTAGE_AFTER,
    RETRY_UNREADABLE_AFTER,
    unavailable,
)
from wake.api.event_streams import CannotStream
from wake.api.parsers import Malformed
from wake.wire import encode

logger = logging.getLogger(__name__)

CODES: dict[type[Exception], int] = {
    Malformed: jsonrpc.PARSE_ERROR,
    jsonrpc.InvalidRequest: jsonrpc.INVALID_REQUEST,
    methods.MethodNotFound: jsonrpc.METHOD_NOT_FOUND,
    InvalidParams: jsonrpc.INVALID_PARAMS,
    lifecycle.TaskNotFound: jsonrpc.TASK_NOT_FOUND,
    pushes.PushConfigNotFound: jsonrpc.TASK_NOT_FOUND,
    methods.NotCancelable: jsonrpc.TASK_NOT_CANCELABLE,
    lifecycle.TaskIsTerminal: jsonrpc.UNSUPPORTED_OPERATION,
    room.TaskIsFull: jsonrpc.UNSUPPORTED_OPERATION,
    room.ContextIsFull: jsonrpc.UNSUPPORTED_OPERATION,
    UnsupportedOperation: jsonrpc.UNSUPPORTED_OPERATION,
    CannotStream: jsonrpc.UNSUPPORTED_OPERATION,
    dialects.ContentTypeNotSupported: jsonrpc.CONTENT_TYPE_NOT_SUPPORTED,
    methods.NoExtendedCard: jsonrpc.EXTENDED_CARD_NOT_CONFIGURED,
    methods.VersionNotSupported: jsonrpc.VERSION_NOT_SUPPORTED,
}
# The member of the request that is wrong, for errors of verbs that do not know the member's name.
FIELDS: dict[type[Exception], str] = {
    sending.ContextMismatch: "message.contextId",
    IdempotencyConflict: "Idempotency-Key",
}


def refuse(id: jsonrpc.Id, exception: Exception, *, as_event: bool = False) -> HttpResponse:
    """Returns 200 for every error of the request, as JSON-RPC requires. Returns 429 or 503 if
    proxies and clients should wait, and 421 if the team has moved to another server.

    With `as_event`, an error of the request is the only event of a stream. Clients read the other
    errors by their status."""
    status, after = _status(exception)
    body = body_of(id, exception)
    if as_event and status == HTTPStatus.OK:
        response = event_streams.whole(stream_events.write(body))
    else:
        response = respond(body, status=status)
    if isinstance(exception, TeamMoved):
        response[MOVED_TO] = exception.server
    if after:
        response["Retry-After"] = str(after)
    return response


def body_of(id: jsonrpc.Id, exception: Exception) -> jsonrpc.Json:
    """Returns the error as JSON-RPC. An unexpected error does not reveal its cause."""
    _, after = _status(exception)
    details = jsonrpc.try_again(after) if after else []
    # Raised, for example, for a query with too many fields.
    if isinstance(exception, SuspiciousOperation):
        exception = jsonrpc.InvalidRequest("The address or a header of this request is not valid.")
    if isinstance(exception, tuple(FIELDS)):
        exception = InvalidParams(FIELDS[type(exception)], str(exception))
    if isinstance(exception, InvalidParams):
        details = jsonrpc.bad_field(exception)
    code = next((CODES[kind] for kind in CODES if isinstance(exception, kind)), None)
    if code is None:
        code, message = jsonrpc.INTERNAL_ERROR, _message_of(exception)
    else:
        message = str(exception)
    details = [*details, *jsonrpc.request_info(log_context.clients_request_id())]
    return jsonrpc.refused(id, code, message, details)


def respond(body: jsonrpc.Json, *, status: int = HTTPStatus.OK) -> HttpResponse:
    response = HttpResponse(encode(body), status=status, content_type="application/json")
    response["Cache-Control"] = "no-store"
    return response


def _status(exception: Exception) -> tuple[int, int]:
    """Returns the HTTP status, and after how many seconds to try again, or 0."""
    match exception:
        case sending.AgentBusy() | TooManyStreams():
            return HTTPStatus.OK, exception.retry_after
        case TooManyRequests():
            return HTTPStatus.TOO_MANY_REQUESTS, exception.retry_after
        case Unreadable():
            return HTTPStatus.SERVICE_UNAVAILABLE, RETRY_UNREADABLE_AFTER
        case TeamMoving():
            return HTTPStatus.SERVICE_UNAVAILABLE, RETRY_MOVING_AFTER
        case TeamMoved():
            return HTTPStatus.MISDIRECTED_REQUEST, 0
        case _ if outages.will_pass(exception):
            return HTTPStatus.SERVICE_UNAVAILABLE, RETRY_OUTAGE_AFTER
    return HTTPStatus.OK, 0


def _message_of(exception: Exception) -> str:
    match exception:
        case sending.AgentBusy() | TooManyStreams() | TeamMoving() | TeamMoved():
            return str(exception)
        case TooManyRequests():
            return MESSAGES["rate_limited"]
        case Unreadable():
            logger.error("Content cannot be read: WAKE_ENCRYPTION_KEYS lacks the key of a row")
            return "This task cannot be read for now. Nothing is lost; try again later."
        case _ if outages.will_pass(exception):
            logger.warning("The database failed: %s", exception)
            outages.forget_dead(exception)
            return unavailable(exception)
    logger.error("A call over A2A failed", exc_info=exception)
    return MESSAGES["server_error"]
