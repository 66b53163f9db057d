"""Implements `wake completion`, which prints a script for bash, zsh or fish."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from wake_client.hook.calls import AGENTS
from wake_client.shell.output import ExitStatus, add_parser

SHELLS = ("bash", "zsh", "fish")
EXAMPLE = """\
  wake completion bash > ~/.local/share/bash-completion/completions/wake
  wake completion zsh > "${fpath[1]}/_wake"
  wake completion fish > ~/.config/fish/completions/wake.fish
"""
BASH = """\
_wake() {{
    local words
    case "${{COMP_WORDS[1]}}" in
{cases}
    *) words="{names}" ;;
    esac
    if [ "$COMP_CWORD" -eq 1 ]; then words="{names}"; fi
    COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _wake wake
"""
ZSH = """\
#compdef wake
_wake() {{
    local -a candidates
    if (( CURRENT == 2 )); then
        candidates=({names})
    else
        case "${{words[2]}}" in
{cases}
        esac
    fi
    compadd -- $candidates
    _files
}}
_wake "$@"
"""


def add_subcommand(subcommands: Any) -> None:
    parser = add_parser(
        subcommands, "completion", "print a script for your shell", start, example=EXAMPLE,
        has_access=False,
    )  # fmt: skip
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(subcommands=subcommands)


def start(arguments: argparse.Namespace, command: list[str], variables: Mapping[str, str]) -> int:
    words = _words(arguments.subcommands)
    sys.stdout.write({"bash": _bash, "zsh": _zsh, "fish": _fish}[arguments.shell](words))
    return ExitStatus.OK


def _words(subcommands: Any) -> dict[str, list[str]]:
    """Returns the options and the fixed words of each subcommand."""
    words: dict[str, list[str]] = {}
    for name, parser in subcommands.choices.items():
        words[name] = []
        for action in parser._actions:
            words[name] += [option for option in action.option_strings if option.startswith("--")]
            words[name] += [str(choice) for choice in action.choices or ()]
    words["hook"] = ["install", "uninstall", "doctor", "--project", "--dry-run", *AGENTS]
    return words


def _bash(words: dict[str, list[str]]) -> str:
    cases = "\n".join(f'    {name}) words="{" ".join(each)}" ;;' for name, each in words.items())
    return BASH.format(cases=cases, names=" ".join(words))


def _zsh(words: dict[str, list[str]]) -> str:
    cases = "\n".join(
        f"        {name}) candidates=({' '.join(each)}) ;;" for name, each in words.items()
    )
    return ZSH.format(cases=cases, names=" ".join(words))


def _fish(words: dict[str, list[str]]) -> str:
    lines = [f"complete -c wake -n __fish_use_subcommand -f -a '{' '.join(words)}'"]
    for name, each in words.items():
        seen = f"__fish_seen_subcommand_from {name}"
        for word in each:
            way = f"-l {word[2:]}" if word.startswith("--") else f"-f -a {word}"
            lines.append(f"complete -c wake -n '{seen}' {way}")
    return "\n".join(lines) + "\n"
