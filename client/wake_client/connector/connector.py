"""What holds across connections: the runs, the journal, and what the relay is owed."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

from wake_client.connector import frames, results
from wake_client.connector.command import Child, Command
from wake_client.connector.frames import Dispatch, Frame, NotAFrame
from wake_client.connector.journal import Journal
from wake_client.connector.owed import MOST_TRIES, Owed, Result
from wake_client.connector.progress import Progress

logger = logging.getLogger(__name__)

# For the relay to confirm the last results, when everything else is over. They are in the journal,
# and told again the next time.
SECONDS_TO_CONFIRM = 10.0
# What a relay takes that does not say it, and what a request has beside its frame.
FRAME_BYTES = 10_000_000
FRAME_AROUND = 100
# A run that is acknowledged late would be taken for one that never arrived.
CANNOT_WAIT = {"ack", "heartbeat", "pong"}


@dataclass
class Run:
    """One dispatch that is here and has no result yet; `child` once its command was started."""

    dispatch: Dispatch
    child: Child | None = None
    canceled: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Connector:
    """Knows nothing of how frames travel: a connection takes `outgoing()` and hands in `take()`."""

    command: Command
    journal: Journal
    capacity: int
    machine: str
    once: bool = False
    instance_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    # Ended: drained, and confirmed as far as the relay answers.
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    has_failed: bool = False

    def __post_init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(self.capacity)
        self._outbox: list[Frame] = []
        self._owed = Owed(self.journal)
        self._news = asyncio.Event()
        self.is_draining = False
        self._frame_bytes = FRAME_BYTES

    def hello(self) -> Frame:
        """The first frame of every connection."""
        return frames.hello(
            agents=[],  # the key says whose this is
            instance_id=self.instance_id,
            machine=self.machine,
            capacity=self.capacity,
            holding=self._held(),
        )

    def resume(self, welcome: Frame) -> None:
        """On a new connection: what the last one may have lost is told again."""
        self._frame_bytes = int(welcome.get("frame_bytes") or FRAME_BYTES)
        self._outbox = [
            frames.ack(run.dispatch.dispatch_id, run.dispatch.lease_id)
            for run in self._runs.values()
            if run.child
        ]
        if self.is_draining:
            self._outbox.append(frames.drain())
        self._owed.resume()
        self._look_after_results()
        self._news.set()

    def heartbeat(self) -> None:
        """Renews the leases of what is here."""
        self._look_after_results()
        self._tell(frames.heartbeat(list(self._held())))

    @property
    def sends_for_long(self) -> bool:
        return self._owed.is_long_on_its_way

    def held_up(self) -> list[Frame]:
        """What cannot wait until that is over."""
        held = [one for one in self._outbox if one["type"] in CANNOT_WAIT]
        self._outbox = [one for one in self._outbox if one not in held]
        return held

    def _held(self) -> dict[str, str]:
        """What runs, and what has a result that the relay may not have yet, each with its lease."""
        ended = {dispatch_id: lease_id for dispatch_id, lease_id, _ in self.journal.unconfirmed()}
        return {one: run.dispatch.lease_id for one, run in self._runs.items()} | ended

    async def outgoing(self) -> list[Frame]:
        """What is to be sent, as soon as there is something."""
        await self._news.wait()
        return self.unsent()

    def unsent(self) -> list[Frame]:
        """What is to be sent next, if anything."""
        self._news.clear()
        told, self._outbox = self._outbox, []
        told += [self._result(*each) for each in self._owed.next()]
        if self._owed.is_due:
            self._news.set()
        return told

    def take(self, frame: Frame) -> None:
        """What the relay sent. What this version does not know is ignored."""
        dispatch_id = str(frame.get("dispatch_id", ""))
        match frame.get("type"):
            case "task":
                try:
                    self._dispatched(Dispatch.read(frame))
                except NotAFrame as error:
                    logger.warning("The relay sent %s", error)
            case "cancel":
                self._canceled(dispatch_id)
            case "done":
                self._owed.settle(dispatch_id)
                self._settle()
            case "ping":
                self._tell(frames.pong())
            case "error":
                logger.warning("The relay says: %s (%s)", frame.get("message"), frame.get("code"))
                self._refused(dispatch_id, str(frame.get("code")))

    def drain(self) -> None:
        """Takes no new tasks; `finished` is set when those that run are over."""
        if not self.is_draining:
            self.is_draining = True
            self._tell(frames.drain())
            self._settle()

    def kill(self) -> None:
        """Ends every command at once. None of them has a result then, so all will run again."""
        for task in self._tasks:
            task.cancel()
        for run in self._runs.values():
            if run.child:
                run.child.kill()

    async def end(self) -> None:
        """Kills them, and waits until they are gone."""
        children = [run.child for run in self._runs.values() if run.child]
        self.kill()
        ending = (*self._tasks, *(child.gone() for child in children))
        await asyncio.gather(*ending, return_exceptions=True)

    @property
    def running(self) -> int:
        return len(self._runs)

    def _dispatched(self, dispatch: Dispatch) -> None:
        if run := self._runs.get(dispatch.dispatch_id):
            run.dispatch = dispatch  # from now on under this lease
            if run.child:
                self._tell(frames.ack(dispatch.dispatch_id, dispatch.lease_id))
        elif outcome := self.journal.result(dispatch.dispatch_id):
            logger.info("task %s: answered from the journal, not run again", dispatch.task_id)
            self._tell(frames.ack(dispatch.dispatch_id, dispatch.lease_id))
            self._ended(dispatch, outcome)
        elif not self.is_draining:  # another machine will have it when the lease is over
            run = self._runs[dispatch.dispatch_id] = Run(dispatch)
            self._in_background(self._see_through(run))
            if self.once:
                self.drain()

    async def _see_through(self, run: Run) -> None:
        """From its start to its result."""
        async with self._slots:
            try:
                outcome = await self._outcome(run)
            except Exception:  # whatever it was, the task must not stay open because of it
                logger.exception("task %s: this connector failed", run.dispatch.task_id)
                outcome = results.failed("The agent's machine could not run its command.")
        dispatch = run.dispatch
        state = "stopped" if run.canceled.is_set() else outcome["state"]
        why = f": {outcome.get('text')}"[:200] if state == "failed" else ""
        logger.info("task %s: %s%s", dispatch.task_id, state, why)
        self.has_failed = self.has_failed or outcome["state"] == "failed"
        self._ended(dispatch, outcome)
        del self._runs[dispatch.dispatch_id]
        self._settle()

    def _ended(self, dispatch: Dispatch, outcome: results.Outcome) -> None:
        """Noted under the lease that the run has now, and told."""
        self.journal.finish(dispatch.dispatch_id, dispatch.lease_id, outcome)
        self._owed.tell(dispatch.dispatch_id)
        self._news.set()

    async def _outcome(self, run: Run) -> results.Outcome:
        dispatch = run.dispatch
        if run.canceled.is_set():
            return results.failed("Canceled before it was started.")
        # The relay counts what it sent, and the journal what was begun here: a crash may have come
        # between the two.
        attempt = max(dispatch.attempt, self.journal.starts(dispatch.dispatch_id) + 1)
        self.journal.start(dispatch.dispatch_id)
        try:
            run.child = await self.command.start(dispatch, attempt=attempt, say=self._listen(run))
        except OSError as error:
            logger.warning("task %s: the command cannot be started: %s", dispatch.task_id, error)
            return results.failed("The agent's command cannot be started.")
        logger.info("task %s: started, attempt %s", dispatch.task_id, attempt)
        self._tell(frames.ack(dispatch.dispatch_id, dispatch.lease_id))
        if run.canceled.is_set():  # while it was being started
            await run.child.stop()
        outcome = await run.child.outcome()
        return (
            results.failed("Stopped: the task was canceled.") if run.canceled.is_set() else outcome
        )

    def _listen(self, run: Run) -> Callable[[str], None]:
        """What to call with what it says while it works."""
        loop = asyncio.get_running_loop()
        said = Progress(at=loop.time())

        def tell() -> None:
            number, text = said.tell(at=loop.time())
            if self._runs.get(run.dispatch.dispatch_id) is run and not run.canceled.is_set():
                self._tell_progress(run.dispatch, number, text)

        def say(text: str) -> None:
            pause = said.say(text, at=loop.time())
            if pause is not None:
                loop.call_later(pause, tell)

        return say

    def _tell_progress(self, dispatch: Dispatch, number: int, text: str) -> None:
        """In place of what of this run is not sent yet: there may be no connection for long."""
        frame = frames.progress(dispatch.dispatch_id, dispatch.lease_id, number, text)
        self._outbox = [one for one in self._outbox if not _is_older(one, frame)]
        self._tell(frame)

    def _result(self, dispatch_id: str, lease_id: str, outcome: results.Outcome) -> Frame:
        """One that the relay would not take is a run that failed: it would not take it the next
        time, either, and nothing behind it would be heard."""
        frame = frames.result(dispatch_id, lease_id, outcome)
        if len(json.dumps(frame)) <= self._frame_bytes - FRAME_AROUND:
            return frame
        kept = self.journal.keep(dispatch_id, outcome)
        logger.warning("run %s: its result is larger than the relay takes: %s", dispatch_id, kept)
        why = "The agent's answer is larger than the relay takes."
        return frames.result(dispatch_id, lease_id, results.failed(why))

    def _look_after_results(self) -> None:
        """A result that does not get through is a run that failed: as long as it was held, its task
        would go on working."""
        for result in self._owed.beat():
            why = f"was told {MOST_TRIES} times and not confirmed"
            self._replace(result, results.UNTOLD, why)
        self._settle()

    def _refused(self, dispatch_id: str, code: str) -> None:
        """What becomes of that run's result, where it was told already. After `lease_lost`
        another connector has the run by now, or it comes again under another lease and is answered
        from what was set aside."""
        for result in self._owed.told(dispatch_id):
            match code:
                case "lease_lost":
                    self._set_aside(result, "is not wanted from this connector any more")
                case "unknown_run":
                    self._set_aside(result, "is of a run that the relay has not got")
                case "too_much":
                    self._replace(result, results.TOO_MUCH, "is more than the relay takes")
                case "failed":
                    self._owed.in_vain(dispatch_id)
        self._settle()

    def _replace(self, result: Result, by: results.Outcome, why: str) -> None:
        """Tells another one in its place, but nothing in place of that."""
        self._set_aside(result, why)
        dispatch_id, lease_id, outcome = result
        if outcome not in results.STAND_INS:
            self.journal.finish(dispatch_id, lease_id, by)
            self._owed.tell(dispatch_id)
            self._news.set()

    def _set_aside(self, result: Result, why: str) -> None:
        """Tells it no more. `why` completes "its result ..."."""
        dispatch_id, _, outcome = result
        kept = "" if outcome in results.STAND_INS else self.journal.keep(dispatch_id, outcome)
        self._owed.settle(dispatch_id)
        where = f"; it is kept in {kept}" if kept else ""
        logger.warning("run %s: its result %s%s", dispatch_id, why, where)

    def _canceled(self, dispatch_id: str) -> None:
        run = self._runs.get(dispatch_id)
        if run is None or run.canceled.is_set():
            return
        logger.info("task %s: canceled", run.dispatch.task_id)
        run.canceled.set()
        if run.child:
            self._in_background(run.child.stop())

    def _in_background(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _tell(self, frame: Frame) -> None:
        self._outbox.append(frame)
        self._news.set()

    def _settle(self) -> None:
        """Notices that there is nothing left to do."""
        if not self.is_draining or self._runs:
            return
        if not self.journal.unconfirmed():
            self.finished.set()
            return
        asyncio.get_running_loop().call_later(SECONDS_TO_CONFIRM, self._finish)

    def _finish(self) -> None:
        """Not in the middle of a long result: it would be as long the next time."""
        if self.sends_for_long:
            self._settle()
        else:
            self.finished.set()


def _is_older(one: Frame, progress: Frame) -> bool:
    return all(one.get(name) == progress[name] for name in ("type", "dispatch_id"))
