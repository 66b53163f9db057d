"""Runs the kit, as `wake-check` or `python -m wake_check`."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from wake_check import arguments, reports, requirements
from wake_check.checks import CHECKS, LAST
from wake_check.clock import Clock, SystemClock
from wake_check.preparing import Unusable, prepare

KEPT, BROKEN, NOT_POSSIBLE = 0, 1, 2


def main(words: Sequence[str] | None = None) -> int:
    given = arguments.parser().parse_args(words)
    try:
        return judge(given, os.environ, SystemClock())
    except Unusable as reason:
        sys.stderr.write(f"wake-check: {reason}\n")
    except KeyboardInterrupt:
        sys.stderr.write("wake-check: interrupted\n")
    except Exception:
        traceback.print_exc()
    return NOT_POSSIBLE


def judge(given: argparse.Namespace, variables: Mapping[str, str], clock: Clock) -> int:
    """Makes one run, writes the reports, and returns the exit status. Raises Unusable if nothing
    can be judged."""
    chosen = requirements.load(given.revision)
    with ExitStack() as opened:
        run = prepare(given, variables, clock, opened)
        origin = run.server.origin
        sys.stderr.write(f"{origin}: {len(chosen)} requirements, in about 75 seconds.\n")
        verdicts = run.judge(chosen, CHECKS, LAST)
    report = reports.Report(origin, given.revision, verdicts, run.extensions)
    for path, write in ((given.junit, reports.junit), (given.markdown, reports.markdown)):
        if path is not None:
            path.write_text(write(report), encoding="utf-8")
    text = reports.as_json(report) if given.json else reports.text(report, is_whole=given.all)
    sys.stdout.write(text)
    return BROKEN if report.is_broken(strict=given.strict) else KEPT


if __name__ == "__main__":
    sys.exit(main())
