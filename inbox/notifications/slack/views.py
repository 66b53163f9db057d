"""Takes the requests that Slack sends when a person presses a button."""

from __future__ import annotations

import json
from urllib.parse import parse_qs

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from database.clock import database_now
from inbox.notifications.channels.kinds.slack_app import is_configured
from inbox.notifications.slack.presses import Foreign, Press, Repeated, press
from inbox.notifications.slack.signatures import NotFromSlack, verify
from wake.api.errors import plain_error

MAX_FIELDS = 10


@csrf_exempt
def slack_interactions(request: HttpRequest) -> HttpResponse:
    """Answers immediately, because Slack expects an answer within three seconds. The message is
    updated later. There is no session, so only the signature identifies the sender."""
    if request.method != "POST":
        response = plain_error(405, "method_not_allowed")
        response["Allow"] = "POST"
        return response
    if not is_configured():
        return plain_error(404, "not_found", "Answering in Slack is not set up.")
    at = database_now()
    signature = request.headers.get("X-Slack-Signature", "")
    try:
        verify(
            request.body,
            timestamp=request.headers.get("X-Slack-Request-Timestamp", ""),
            signature=signature,
            secret=settings.WAKE_SLACK_SIGNING_SECRET,
            at=at,
        )
        pressed = Press.read(_payload(request.body))
        if pressed is not None:
            press(pressed, signature=signature, at=at)
    except NotFromSlack as reason:
        return plain_error(401, "unauthorized", str(reason))
    except (Foreign, Repeated) as reason:
        return plain_error(403, "forbidden", str(reason))
    except ValueError:
        return plain_error(400, "malformed", "This is not a payload of Slack.")
    return HttpResponse(status=200)


def _payload(body: bytes) -> object:
    """Returns the JSON in the field `payload` of a form. Raises ValueError."""
    (text,) = parse_qs(body.decode(), max_num_fields=MAX_FIELDS).get("payload", [""])
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError from None
