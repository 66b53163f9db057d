"""Checks the extensions for repeating requests, batches, uploads and long polls."""

from __future__ import annotations

import hashlib
import secrets

from wake_check.checks.answers import approved
from wake_check.checks.expect import expect_error, expect_member, expect_status, expect_time
from wake_check.checks.registry import judges
from wake_check.run import QUOTA_USED, Run, Steps
from wake_check.verdicts import Broken, NotJudged

REPLAYED = "idempotency-replayed"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'
# A poll without an answer may return earlier, and never much later.
WAIT_SECONDS, SLACK_SECONDS = 1, 5


@judges("extension-idempotency")
def idempotency(run: Run) -> None:
    key = f"wake-check-{secrets.token_hex(8)}"
    body = run.payload(what="sent twice")
    first = expect_status(run.post(body, idempotency_key=key), 201)
    again = expect_status(run.post(body, idempotency_key=key), 201, why="the same request again")
    expect_member(again, "delivery_id", first.members.get("delivery_id"))
    if again.answer_headers.get(REPLAYED) != "true":
        raise Broken("The replay has no `Idempotency-Replayed: true`.", again)
    changed = run.post({**body, "summary": "Another summary."}, idempotency_key=key)
    expect_status(changed, 422, why="the same key with another body")


@judges("extension-batch")
def batch(run: Run) -> None:
    good = [run.payload(what=f"{number} of a batch") for number in (1, 2)]
    bad = run.payload(type="poem")
    answer = run.server.post("deliveries", {"deliveries": [good[0], bad, good[1]]})
    expect_status(answer, 200)
    results = answer.members.get("results")
    codes = [row.get("status_code") for row in results or [] if isinstance(row, dict)]
    if 429 in codes:
        raise NotJudged(QUOTA_USED)
    if codes != [201, 422, 201]:
        raise Broken(f"The status codes are {codes}, and not [201, 422, 201].", answer)
    for row in (results[0], results[2]) if isinstance(results, list) else ():
        poll = run.server.get(f"response/{row['body'].get('delivery_id')}")
        expect_status(poll, 200, why="a delivery of the batch")
    before = run.sweep(limit=1).members.get("total")
    atomic = run.server.post("deliveries", {"deliveries": [good[0], bad], "atomic": True})
    expect_status(atomic, 422, why="one delivery of an atomic batch is invalid")
    after = run.sweep(limit=1)
    if after.members.get("total") != before:
        raise Broken("An atomic batch that is refused stores a delivery.", after)


@judges("extension-blobs")
def blobs(run: Run) -> None:
    content = f"a file of {run.name}\n".encode()
    upload = run.post_patiently("blobs", content, content_type="text/plain")
    expect_status(upload, 201)
    expect_member(upload, "size", len(content))
    expect_member(upload, "sha256", hashlib.sha256(content).hexdigest())
    expect_time(upload, "expires_at", upload.members.get("expires_at"))
    again = expect_status(run.server.post("blobs", content, content_type="text/plain"), 201)
    expect_member(again, "blob_id", upload.members.get("blob_id"))
    svg = run.server.post("blobs", SVG, content_type="image/svg+xml")
    expect_error(svg, 415, "unsupported_media_type", why="the upload is an SVG")


@judges("extension-wait")
def wait(run: Run) -> Steps:
    episode = approved(run)
    delivery_id = run.shared().members["delivery_id"]
    for value in ("0", "26", "1.5", "soon"):
        expect_status(
            run.server.get(f"response/{delivery_id}", wait=value), 422, why=f"wait={value}"
        )
        expect_status(run.server.get("responses", wait=value), 422, why=f"wait={value}")
    began = run.clock.now()
    poll = run.poll(delivery_id, wait=WAIT_SECONDS)
    took = run.clock.now() - began
    expect_member(poll, "status", "pending")
    if took > WAIT_SECONDS + SLACK_SECONDS:
        raise Broken(f"wait={WAIT_SECONDS} takes {took:.0f} seconds.", poll)
    yield run.until(lambda: episode.is_over)
    episode.answer()
    began = run.clock.now()
    answered = run.poll(episode.delivery_id, wait=25)
    expect_member(answered, "status", "approved")
    if run.clock.now() - began > SLACK_SECONDS:
        raise Broken("A long poll waits although there is an answer.", answered)
