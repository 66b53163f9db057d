"""Checks the callbacks, which arrive at the kit's own receiver."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from wake_check.checks.registry import judges
from wake_check.episodes import Episode
from wake_check.exchanges import Exchange
from wake_check.receiver import Callback
from wake_check.run import Run, Steps
from wake_check.verdicts import Broken, NotJudged

SENT, RETRIED, REDIRECTS, TARGET = "sent", "retried", "redirects", "target"
# The feedback tells bytes from re-encoded JSON: it has letters beyond ASCII, and a slash.
ANSWER = {"status": "approved", "feedback": "Schön: a/b, “so” be it."}
REFUSED = "The server refuses {url}: allow this host for callbacks, or use --callback-url."


def _callback(run: Run) -> Steps:
    """Waits for the callback of the delivery that all checks of its content share."""
    episode = _episode(run, SENT, run.receiver.address(SENT), ANSWER)
    yield run.until(
        lambda: episode.is_over and bool(run.receiver.received(SENT)), within=_long(run)
    )
    episode.require_person()


def _received(run: Run) -> Callback:
    callbacks = run.receiver.received(SENT)
    if not callbacks:
        raise Broken(
            "The person has answered, and no callback came.", run.episode(SENT, ANSWER).delivered
        )
    return callbacks[0]


def _shown(run: Run, callback: Callback) -> Exchange:
    """Returns the callback as a request that can be printed."""
    url = f"{run.receiver.url}/{callback.path}"
    return Exchange("POST", url, callback.headers, callback.body, "", 200)


def _episode(run: Run, name: str, url: str, answer: dict[str, str]) -> Episode:
    try:
        return run.episode(name, answer, type="question", callback_webhook=url)
    except NotJudged:
        raise NotJudged(REFUSED.format(url=url)) from None


def _long(run: Run) -> float:
    return run.patience + 30


@judges("webhook-body")
def body(run: Run) -> Steps:
    yield from _callback(run)
    callback = _received(run)
    poll = run.episode(SENT, ANSWER).answer()
    if callback.body != poll.answer:
        raise Broken("The body of the callback is not the body of the GET.", _shown(run, callback))


@judges("webhook-signature")
def signature(run: Run) -> Steps:
    yield from _callback(run)
    secret = _secret(run)
    callback = _received(run)
    expected = "sha256=" + hmac.new(secret.encode(), callback.body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, callback.headers.get("x-wake-signature", "")):
        raise Broken(
            "X-Wake-Signature does not match the bytes of the body.", _shown(run, callback)
        )


@judges("webhook-headers")
def headers(run: Run) -> Steps:
    yield from _callback(run)
    callback = _received(run)
    found = callback.headers
    shown = _shown(run, callback)
    if found.get("x-wake-delivery-id") != run.episode(SENT, ANSWER).delivery_id:
        raise Broken("X-Wake-Delivery-Id is not the id of the delivery.", shown)
    if not found.get("content-type", "").startswith("application/json"):
        raise Broken("Content-Type is not application/json.", shown)
    if not found.get("x-wake-signature", "").startswith("sha256="):
        raise Broken("X-Wake-Signature is missing, or does not begin with sha256=.", shown)


@judges("extension-standard-webhooks")
def standard_webhooks(run: Run) -> Steps:
    yield from _callback(run)
    secret = _secret(run)
    callback = _received(run)
    shown = _shown(run, callback)
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        raise NotJudged("The signing secret is not whsec_ and base64.") from None
    parts = [callback.headers.get(f"webhook-{name}", "") for name in ("id", "timestamp")]
    signed = ".".join(parts).encode() + b"." + callback.body
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    if not all(parts) or not parts[1].isdigit():
        raise Broken("webhook-id or webhook-timestamp is missing.", shown)
    if expected not in callback.headers.get("webhook-signature", "").split():
        raise Broken("webhook-signature does not match.", shown)


@judges("webhook-retries")
def retries(run: Run) -> Steps:
    url = run.receiver.address(RETRIED, (500, {}), (200, {}))
    episode = _episode(run, RETRIED, url, {"status": "approved"})
    yield run.until(
        lambda: episode.is_over and len(run.receiver.received(RETRIED)) > 1, within=_long(run)
    )
    episode.require_person()
    callbacks = run.receiver.received(RETRIED)
    if len(callbacks) < 2:
        raise Broken("After a 500, no second attempt came.", episode.delivered)
    if callbacks[0].body != callbacks[1].body:
        raise Broken("The second attempt has another body.", _shown(run, callbacks[1]))


@judges("webhook-redirects")
def redirects(run: Run) -> Steps:
    target = run.receiver.address(TARGET)
    url = run.receiver.address(REDIRECTS, (307, {"Location": target}), (200, {}))
    episode = _episode(run, REDIRECTS, url, {"status": "approved"})
    yield run.until(
        lambda: episode.is_over and bool(run.receiver.received(REDIRECTS)), within=_long(run)
    )
    episode.require_person()
    yield run.after(1)  # a redirect would be followed at once
    if not run.receiver.received(REDIRECTS):
        raise NotJudged("No callback came, as the check webhook-body says.")
    if followed := run.receiver.received(TARGET):
        raise Broken("The callback follows a redirect.", _shown(run, followed[0]))


def _secret(run: Run) -> str:
    if not run.secret:
        raise NotJudged("It needs the signing secret, in WAKE_WEBHOOK_SECRET.")
    return run.secret
