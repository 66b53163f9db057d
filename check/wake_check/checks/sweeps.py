"""Checks GET /wake/v1/responses: filters, pages and the cursor."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from urllib.parse import quote

from wake_check.checks.answers import approved, missing_keys, redirected, rejected, rows_of
from wake_check.checks.expect import expect_member, expect_status, expect_time, time_of
from wake_check.checks.registry import judges, judges_last
from wake_check.exchanges import Exchange
from wake_check.run import Run, Steps
from wake_check.verdicts import Broken, NotJudged

AT_ONCE = 5
MAX_PAGES = 200


@judges("sweep-shape")
def shape(run: Run) -> None:
    run.shared()
    sweep = expect_status(run.sweep(limit=2), 200)
    for name, kind in (
        ("deliveries", list),
        ("total", int),
        ("has_more", bool),
        ("next_since", str),
    ):
        if not isinstance(sweep.members.get(name), kind):
            raise Broken(f"`{name}` is {sweep.members.get(name)!r}, and no {kind.__name__}.", sweep)
    expect_time(sweep, "next_since", sweep.members["next_since"])


@judges("sweep-items")
def items(run: Run) -> Steps:
    episode = redirected(run)
    yield run.until(lambda: episode.is_over)
    poll = episode.answer()
    for row, sweep in _rows(run, since=_before(episode.delivered)):
        if missing := missing_keys(row):
            raise Broken(f"A delivery has no `{missing[0]}`.", sweep)
        if row["delivery_id"] == episode.delivery_id:
            different = {
                name
                for name in poll.members.keys() | row.keys()
                if poll.members.get(name) != row.get(name)
            }
            if different:
                raise Broken(
                    f"The bulk request and the poll differ in {', '.join(sorted(different))}.",
                    sweep,
                )
            return
    raise Broken("An answered delivery is not in the bulk request.", run.sweep(limit=200))


@judges("sweep-agent-id")
def agent_id(run: Run) -> None:
    delivered = run.shared()
    since = _before(delivered)
    own = expect_status(run.sweep(agent_id=run.agent_id, since=since, limit=200), 200)
    if delivered.members["delivery_id"] not in _ids(own):
        raise Broken("The delivery is not found by its agent_id.", own)
    other = run.sweep(agent_id=f"no-agent-{run.name}", since=since, limit=200)
    if other.status == 200 and _ids(other):
        raise Broken("The filter agent_id finds deliveries of another agent id.", other)


@judges("sweep-status")
def status(run: Run) -> Steps:
    episodes = {"approved": approved(run), "rejected": rejected(run)}
    yield run.until(lambda: all(episode.is_over for episode in episodes.values()))
    for episode in episodes.values():
        episode.answer()
    since = _before(episodes["approved"].delivered)
    for wanted in ("approved", "approved,rejected", "pending"):
        names = wanted.split(",")
        sweep = expect_status(run.sweep(status=wanted, since=since, limit=200), 200)
        for row in rows_of(sweep):
            if row.get("status") not in names:
                raise Broken(f"status={wanted} finds {row.get('status')!r}.", sweep)
        for name in names:
            if name in episodes and episodes[name].delivery_id not in _ids(sweep):
                raise Broken(f"status={wanted} does not find a delivery that is {name}.", sweep)


@judges("sweep-since-answers")
def since_finds_answers(run: Run) -> Steps:
    episode = rejected(run)
    since = str(episode.delivered.members.get("created_at"))
    yield run.until(lambda: episode.is_over)
    episode.answer()
    for row, _ in _rows(run, since=since):
        if row.get("delivery_id") == episode.delivery_id and row.get("status") == "rejected":
            return
    raise Broken(
        "A delivery that was created before `since` and answered after it is not found.",
        run.sweep(since=since, limit=200),
    )


@judges("sweep-no-repetition")
def no_repetition(run: Run) -> None:
    delivered = run.shared()
    seen: set[tuple[Any, Any]] = set()
    for row, sweep in _rows(run, since=_before(delivered), limit=2):
        pair = (row.get("delivery_id"), row.get("status"))
        if pair in seen:
            raise Broken(f"The delivery {pair[0]} comes twice.", sweep)
        seen.add(pair)
    last = run.sweep(since=_last_cursor(run), limit=200)
    if repeated := seen & {(row.get("delivery_id"), row.get("status")) for row in rows_of(last)}:
        raise Broken(
            f"The delivery {repeated.pop()[0]} comes again after its own next_since.", last
        )


@judges("sweep-no-loss")
def no_loss(run: Run) -> None:
    """Delivers several times at once, so that deliveries may share a time of a coarse clock. Then
    small pages cut through the deliveries that have the same time."""
    bodies = [run.payload(what=f"{number} of {AT_ONCE} at once") for number in range(AT_ONCE)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        receipts = list(pool.map(run.post, bodies))
    wanted = {receipt.members.get("delivery_id") for receipt in receipts if receipt.status == 201}
    if len(wanted) < 2:
        raise NotJudged("It needs several deliveries, and the server refused them.")
    found: set[Any] = set()
    sweep = first = min(receipts, key=lambda receipt: str(receipt.members.get("created_at")))
    for row, page in _rows(run, since=_before(first), limit=2):
        sweep = page
        found.add(row.get("delivery_id"))
    if lost := wanted - found:
        raise Broken(
            f"Paging with next_since loses {len(lost)} of {len(wanted)} deliveries.", sweep
        )


@judges("sweep-limit")
def limit(run: Run) -> None:
    for type_ in ("update", "question", "alert"):
        run.shared(f"type {type_}", type=type_)
    for most in (1, 2):
        sweep = expect_status(run.sweep(limit=most), 200)
        if len(rows_of(sweep)) != most:
            raise Broken(f"limit={most} returns {len(rows_of(sweep))} deliveries.", sweep)
        expect_member(sweep, "has_more", value=True)


@judges("sweep-limit-default")
def limit_default(run: Run) -> None:
    sweep = expect_status(run.sweep(), 200)
    found = len(rows_of(sweep))
    if found > 50:
        raise Broken(f"Without a limit, {found} deliveries are returned.", sweep)
    most = run.sweep(limit=1000)
    if most.status == 200 and len(rows_of(most)) > 200:
        raise Broken(f"limit=1000 returns {len(rows_of(most))} deliveries.", most)
    has = sweep.members.get("total")
    if found < 50 or (isinstance(has, int) and has <= 200):
        raise NotJudged(f"The agent has {has} deliveries, and this shows with more than 200.")


@judges("sweep-parameters")
def parameters(run: Run) -> None:
    for query in ("status=done", "limit=0", "limit=many", "since=yesterday"):
        expect_status(run.server.get(f"responses?{query}"), 422, why=query)
    expect_status(run.server.get("responses?limit=1&limit=2"), 422, why="limit appears twice")
    expect_status(run.sweep(limit=1000), 200, why="limit=1000")


@judges("sweep-since-forms")
def since_forms(run: Run) -> None:
    delivered = run.shared()
    created = time_of(delivered.members["created_at"])
    if created is None:
        raise NotJudged("The receipt has no time.")
    before = created - timedelta(seconds=1)
    east = before.astimezone(timezone(timedelta(hours=2))).isoformat()
    utc = before.astimezone(UTC).replace(tzinfo=None).isoformat()
    for text in (f"{utc}Z", utc, quote(east), east.replace("+", " ")):
        sweep = expect_status(run.server.get(f"responses?limit=200&since={text}"), 200, why=text)
        if delivered.members["delivery_id"] not in _ids(sweep):
            raise Broken(f"since={text} does not find a delivery that is newer.", sweep)


@judges("sweep-empty-page")
def empty_page(run: Run) -> None:
    future = "2999-01-01T00:00:00Z"
    sweep = expect_status(run.sweep(since=future), 200)
    expect_member(sweep, "deliveries", [])
    expect_member(sweep, "has_more", value=False)
    expect_member(sweep, "next_since", future)


@judges_last("sweep-order")
def order(run: Run) -> None:
    created = {
        receipt.members.get("delivery_id"): time_of(receipt.members.get("created_at"))
        for receipt in run.bodies
        if receipt.status == 201
    }
    last: datetime | None = None
    for row, sweep in _rows(run, since=_before(run.shared())):
        is_pending = row.get("status") == "pending"
        answered = time_of(row.get("responded_at"))
        at = created.get(row.get("delivery_id")) if is_pending else answered
        if at and last and at < last:
            raise Broken("The deliveries are not in the order of their times.", sweep)
        last = at or last


def _rows(run: Run, *, since: str, limit: int = 200) -> Iterator[tuple[dict[str, Any], Exchange]]:
    """Yields the rows of all pages, each with its page."""
    cursor: Any = since
    for _ in range(MAX_PAGES):
        sweep = expect_status(run.sweep(since=cursor, limit=limit), 200)
        yield from ((row, sweep) for row in rows_of(sweep))
        if not sweep.members.get("has_more") or sweep.members.get("next_since") == cursor:
            return
        cursor = sweep.members.get("next_since")


def _last_cursor(run: Run) -> str:
    """Returns the cursor after everything that the agent has."""
    cursor: Any = _before(run.shared())
    for _ in range(MAX_PAGES):
        sweep = expect_status(run.sweep(since=cursor, limit=200), 200)
        cursor = sweep.members.get("next_since") or cursor
        if not sweep.members.get("has_more"):
            break
    return str(cursor)


def _before(receipt: Exchange) -> str:
    """Returns a time shortly before the delivery, but within the run, so that pages are few."""
    created = time_of(receipt.members.get("created_at"))
    if created is None:
        raise NotJudged("The receipt has no time.")
    return (created.astimezone(UTC) - timedelta(seconds=1)).isoformat().replace("+00:00", "Z")


def _ids(sweep: Exchange) -> set[Any]:
    return {row.get("delivery_id") for row in rows_of(sweep)}
