"""Lists the subcommands of `wake`. The shell completion uses the same list."""

from __future__ import annotations

import argparse

from wake_client.acp import cli as acp
from wake_client.connector import cli
from wake_client.shell import completion, deliveries, doctor, login, mcp_bridge, run, verify, watch
from wake_client.version import __version__

DESCRIPTION = "Hands your work to people over the WAKE protocol, and brings back their answers."
EPILOG = """\
examples:
  wake login --endpoint https://wake.example.com --agent painter
  wake ask "Which name?" "Both are free." --assume "I take the first." --deadline 3600
  wake hook install claude-code
"""


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "wake",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"wake-client {__version__}")
    parser.set_defaults(takes_command=False)
    subcommands = parser.add_subparsers(required=True, metavar="SUBCOMMAND")
    deliveries.add_subcommands(subcommands)
    watch.add_subcommand(subcommands)
    login.add_subcommand(subcommands)
    doctor.add_subcommand(subcommands)
    subcommands.add_parser("hook", help="let people answer a coding agent's permission prompts")
    run.add_subcommand(subcommands)
    acp.add_subcommand(subcommands)
    mcp_bridge.add_subcommand(subcommands)
    verify.add_subcommand(subcommands)
    connect = subcommands.add_parser("connect", help="run a command for each task that comes in")
    cli.add_arguments(connect)
    connect.set_defaults(start=cli.connect, parser=connect, takes_command=True)
    completion.add_subcommand(subcommands)
    return parser
