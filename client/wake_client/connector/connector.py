"""Holds the state that outlives a connection: the runs, the journal and the unconfirmed results."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

from wake_client.connector import frames, results
from wake_client.connector.command import Command, Process
from wake_client.connector.frames import Frame, NotAFrame, Run
from wake_client.connector.journal import Journal
from wake_client.connector.pieces import Pieces
from wake_client.connector.progress import Progress, Report
from wake_client.connector.unconfirmed import MAX_TRIES, Result, UnconfirmedResults
from wake_client.visible_text import shortened

logger = logging.getLogger(__name__)

# Wait this long for the last confirmations when everything else is over. Results that are
# unconfirmed by then stay in the journal and are sent at the next start.
SECONDS_TO_CONFIRM = 10.0
# The limit for a relay that names none. It is for the frame and the request around the frame
# together.
MAX_FRAME_BYTES = 10_000_000
BYTES_AROUND_FRAME = 100
NOT_AGAIN = (
    "The agent's machine was lost during this run, and its command may not be started twice."
)
# A late acknowledgement would make the relay think that the run never arrived.
URGENT = {"ack", "heartbeat", "pong"}


@dataclass
class ActiveRun:
    """Tracks a run that has no result yet. `process` is set once its command has started."""

    run: Run
    process: Process | None = None
    pieces: Pieces | None = None
    canceled: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Connector:
    """Runs the command and decides which frames to send.

    The connector does not know how frames travel: a connection calls `outgoing()` and `handle()`.
    """

    command: Command
    journal: Journal
    capacity: int
    machine: str
    once: bool = False
    # True if a run that may have been started before, here or elsewhere, fails instead of starting
    # again.
    at_most_once: bool = False
    # Set when the connector has drained and the relay has confirmed its results.
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    has_failed: bool = False

    def __post_init__(self) -> None:
        self._active: dict[str, ActiveRun] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(self.capacity)
        self._outbox: list[Frame] = []
        self._unconfirmed = UnconfirmedResults(self.journal)
        self._has_unsent = asyncio.Event()
        self.is_draining = False
        self._max_frame_bytes = MAX_FRAME_BYTES
        self._was_welcomed = False
        # An older relay would add pieces twice, so this connector sends it pieces only with the
        # result.
        self._takes_pieces = False
        # The id stays the same after a restart, so that the relay knows whose runs have ended with
        # the process. A copy of the journal on another machine is another connector.
        self.instance_id = str(uuid.uuid5(self.journal.id, self.machine))

    def hello(self) -> Frame:
        """Returns the first frame of a connection."""
        return frames.hello(
            instance_id=self.instance_id,
            machine=self.machine,
            capacity=self.capacity,
            leases=self._leases(),
            is_first=not self._was_welcomed,
        )

    def resume(self, welcome: Frame) -> None:
        """Queues the frames that the last connection may have lost."""
        allowed = int(welcome.get("max_concurrency") or self.capacity)
        if allowed < self.capacity and not self._was_welcomed:
            logger.warning("the card allows fewer runs at a time (%s) than --capacity", allowed)
        self._was_welcomed = True
        self._max_frame_bytes = int(welcome.get("frame_bytes") or MAX_FRAME_BYTES)
        self._takes_pieces = bool(welcome.get("pieces"))
        self._outbox = [
            frames.ack(active.run) for active in self._active.values() if active.process
        ]
        for active in self._active.values():
            if active.pieces and self._takes_pieces:
                active.pieces.next(at=asyncio.get_running_loop().time())
                for number, artifact in active.pieces.numbered:
                    self._outbox.append(frames.piece(active.run, number, artifact))
        if self.is_draining:
            self._outbox.append(frames.drain())
        self._unconfirmed.reconnected()
        self._check_results()
        self._has_unsent.set()

    def heartbeat(self) -> None:
        """Renews the leases of this connector's runs."""
        self._check_results()
        self._queue(frames.heartbeat(list(self._leases())))

    @property
    def is_sending_long_result(self) -> bool:
        return self._unconfirmed.is_sending_long_result

    def urgent(self) -> list[Frame]:
        """Takes the frames that cannot wait behind a long result out of the queue."""
        urgent = [frame for frame in self._outbox if frame["type"] in URGENT]
        self._outbox = [frame for frame in self._outbox if frame not in urgent]
        return urgent

    def _leases(self) -> dict[str, str]:
        """Returns the lease of each run that is active, or whose result is unconfirmed."""
        active = {run_id: active.run.lease_id for run_id, active in self._active.items()}
        return active | {run_id: lease_id for run_id, lease_id, _ in self.journal.unconfirmed()}

    async def outgoing(self) -> list[Frame]:
        """Waits until there is something to send, and returns it."""
        await self._has_unsent.wait()
        return self.unsent()

    def unsent(self) -> list[Frame]:
        """Returns the frames to send next, if any."""
        self._has_unsent.clear()
        outgoing, self._outbox = self._outbox, []
        outgoing += [self._result_frame(*result) for result in self._unconfirmed.next_batch()]
        if self._unconfirmed.has_due:
            self._has_unsent.set()
        return outgoing

    def handle(self, frame: Frame) -> None:
        """Handles a frame from the relay. Frames that this version does not know are ignored."""
        run_id = str(frame.get("dispatch_id", ""))
        match frame.get("type"):
            case "task":
                try:
                    self._accept(Run.read(frame))
                except NotAFrame as error:
                    logger.warning("the relay sent %s", error)
            case "cancel":
                self._cancel(run_id)
            case "done":
                self._unconfirmed.confirm(run_id)
                self._check_finished()
            case "ping":
                self._queue(frames.pong())
            case "error":
                logger.warning(
                    "the relay reports: %s (%s)", frame.get("message"), frame.get("code")
                )
                # An error with a number is about progress, not about the run's result.
                if "n" not in frame:
                    self._result_refused(run_id, str(frame.get("code")))

    def drain(self) -> None:
        """Takes no new tasks. `finished` is set when the active runs have ended."""
        if not self.is_draining:
            self.is_draining = True
            self._queue(frames.drain())
            self._check_finished()

    def kill(self) -> None:
        """Kills every command. The runs of these commands get no result, so each will run again."""
        for task in self._tasks:
            task.cancel()
        for active in self._active.values():
            if active.process:
                active.process.kill()

    async def end(self) -> None:
        """Kills every command and waits until all are gone."""
        processes = [active.process for active in self._active.values() if active.process]
        self.kill()
        ending = (*self._tasks, *(process.wait() for process in processes))
        await asyncio.gather(*ending, return_exceptions=True)

    async def runs_ended(self) -> None:
        """Waits until every active run has ended and its result is in the journal."""
        while self._active:
            await asyncio.wait(self._tasks)

    @property
    def running(self) -> int:
        return len(self._active)

    def _accept(self, run: Run) -> None:
        if active := self._active.get(run.run_id):
            active.run = run  # the run has a new lease
            if active.process:
                self._queue(frames.ack(run))
        elif outcome := self.journal.result(run.run_id):
            logger.info("task %s: answered from the journal, not run again", run.task_id)
            self._queue(frames.ack(run))
            self._finish(run, outcome)
        # A draining connector leaves the run to another one, when the lease ends.
        elif not self.is_draining:
            active = self._active[run.run_id] = ActiveRun(run)
            self._in_background(self._execute(active))
            if self.once:
                self.drain()

    async def _execute(self, active: ActiveRun) -> None:
        """Runs the command from its start to its result."""
        async with self._slots:
            try:
                outcome = await self._outcome(active)
            except Exception:  # the task must not stay open because of an unexpected error
                logger.exception("task %s: this connector failed", active.run.task_id)
                outcome = results.failed("The agent's machine could not run its command.")
        run = active.run
        state = "stopped" if active.canceled.is_set() else outcome["state"]
        reason = shortened(f": {outcome.get('text')}", 200) if state == "failed" else ""
        logger.info("task %s: %s%s", run.task_id, state, reason)
        self.has_failed = self.has_failed or outcome["state"] == "failed"
        self._finish(run, outcome)
        del self._active[run.run_id]
        self._check_finished()

    def _finish(self, run: Run, outcome: results.Outcome) -> None:
        """Records the outcome under the run's current lease, and sends it."""
        self.journal.finish(run.run_id, run.lease_id, outcome)
        self._unconfirmed.send_soon(run.run_id)
        self._has_unsent.set()

    async def _outcome(self, active: ActiveRun) -> results.Outcome:
        run = active.run
        if active.canceled.is_set():
            return results.failed("Canceled before it was started.")
        # The relay counts the attempts that the relay sent. The journal counts the starts on this
        # machine. The two numbers differ after a crash between sending and starting.
        attempt = max(run.attempt, self.journal.starts(run.run_id) + 1)
        if self.at_most_once and attempt > 1:
            return results.failed(NOT_AGAIN)
        self.journal.start(run.run_id)
        try:
            process = await self.command.start(run, attempt=attempt, report=self._reporter(active))
        except OSError as error:
            logger.warning("task %s: the command cannot be started: %s", run.task_id, error)
            return results.failed("The agent's command cannot be started.")
        active.process = process
        logger.info("task %s: started, attempt %s", run.task_id, attempt)
        self._queue(frames.ack(active.run))
        if active.canceled.is_set():  # the task was canceled during the start
            await process.stop()
        outcome = await process.outcome()
        if active.canceled.is_set():
            return results.failed("Stopped: the task was canceled.")
        if active.pieces and (pieces := active.pieces.for_result()):
            outcome = outcome | {"artifacts": pieces + outcome.get("artifacts", [])}
        return outcome

    def _reporter(self, active: ActiveRun) -> Callable[[Report], None]:
        """Returns the function that receives the command's reports while it works."""
        loop = asyncio.get_running_loop()
        progress = Progress(at=loop.time())
        pieces = active.pieces = Pieces(progress.count, at=loop.time())

        def is_wanted() -> bool:
            return self._active.get(active.run.run_id) is active and not active.canceled.is_set()

        def send_text() -> None:
            number, text = progress.next(at=loop.time())
            if is_wanted():
                logger.info(
                    "task %s: %s", active.run.task_id, shortened(" ".join(text.split()), 200)
                )
                self._queue_progress(active.run, number, text)

        def send_pieces() -> None:
            if is_wanted() and self._takes_pieces:
                for number, artifact in pieces.next(at=loop.time()):
                    self._queue(frames.piece(active.run, number, artifact))

        def report(line: Report) -> None:
            if line.artifact:
                pause = pieces.add(line.artifact, at=loop.time())
                if pause is not None:
                    loop.call_later(pause, send_pieces)
            if line.text:
                pause = progress.report(line.text, at=loop.time())
                if pause is not None:
                    loop.call_later(pause, send_text)

        return report

    def _queue_progress(self, run: Run, number: int, text: str) -> None:
        """Replaces unsent progress of the same run, because the connection may be away for long."""
        progress = frames.progress(run, number, text)
        self._outbox = [frame for frame in self._outbox if not frames.is_replaced(frame, progress)]
        self._queue(progress)

    def _result_frame(self, run_id: str, lease_id: str, outcome: results.Outcome) -> Frame:
        """Returns the frame of a result, or of a failure if the result is too long. The relay would
        refuse a frame that is too long each time, and would then receive none of the frames after
        it."""
        frame = frames.result(run_id, lease_id, outcome)
        if len(json.dumps(frame)) <= self._max_frame_bytes - BYTES_AROUND_FRAME:
            return frame
        file = self.journal.set_aside(run_id, outcome)
        logger.warning("run %s: its result is larger than the relay takes: %s", run_id, file)
        reason = "The agent's answer is larger than the relay takes."
        return frames.result(run_id, lease_id, results.failed(reason))

    def _check_results(self) -> None:
        """Fails a run whose result cannot be delivered. The task would stay "working" for as long
        as this connector holds the run."""
        for result in self._unconfirmed.heartbeat():
            reason = f"was sent {MAX_TRIES} times and not confirmed"
            self._replace(result, results.NOT_DELIVERED, reason)
        self._check_finished()

    def _result_refused(self, run_id: str, code: str) -> None:
        """Handles an error about a run whose result was sent.

        After `lease_lost`, the result is set aside. Another connector may have the run. If the run
        comes to this connector again under another lease, the connector sends the result that was
        set aside.
        """
        for result in self._unconfirmed.sent(run_id):
            match code:
                case "lease_lost":
                    self._set_aside(result, "is no longer wanted from this connector")
                case "unknown_run":
                    self._set_aside(result, "is of a run that the relay does not know")
                case "too_much":
                    self._replace(result, results.TOO_LARGE, "is larger than the relay takes")
                case "failed":
                    self._unconfirmed.try_failed(run_id)
        self._check_finished()

    def _replace(self, result: Result, substitute: results.Outcome, reason: str) -> None:
        """Sets a result aside and sends the substitute. A substitute is not replaced again."""
        self._set_aside(result, reason)
        run_id, lease_id, outcome = result
        if outcome not in results.SUBSTITUTES:
            self.journal.finish(run_id, lease_id, substitute)
            self._unconfirmed.send_soon(run_id)
            self._has_unsent.set()

    def _set_aside(self, result: Result, reason: str) -> None:
        """Stores a result in a file instead of sending it again. `reason` completes the sentence
        "its result ..."."""
        run_id, _, outcome = result
        file = "" if outcome in results.SUBSTITUTES else self.journal.set_aside(run_id, outcome)
        self._unconfirmed.confirm(run_id)
        where = f"; it is kept in {file}" if file else ""
        logger.warning("run %s: its result %s%s", run_id, reason, where)

    def _cancel(self, run_id: str) -> None:
        active = self._active.get(run_id)
        if active is None or active.canceled.is_set():
            return
        logger.info("task %s: canceled", active.run.task_id)
        active.canceled.set()
        if active.process:
            self._in_background(active.process.stop())

    def _in_background(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _queue(self, frame: Frame) -> None:
        self._outbox.append(frame)
        self._has_unsent.set()

    def _check_finished(self) -> None:
        """Sets `finished` when nothing is left to do, or soon if only confirmations are missing."""
        if not self.is_draining or self._active:
            return
        if not self.journal.unconfirmed():
            self.finished.set()
            return
        asyncio.get_running_loop().call_later(SECONDS_TO_CONFIRM, self._stop_waiting)

    def _stop_waiting(self) -> None:
        """Sets `finished`, unless a long result is being sent, because sending that result again
        would take as long."""
        if self.is_sending_long_result:
            self._check_finished()
        else:
            self.finished.set()
