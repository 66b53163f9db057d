#!/usr/bin/env python
"""Django's command line, for this project."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "wake.settings")
    from django.core.management import execute_from_command_line

    from wake.server.settings.env import BadVariable

    try:
        execute_from_command_line(sys.argv)
    except BadVariable as reason:
        sys.exit(f"{reason} Set it to that, or leave it out.")


if __name__ == "__main__":
    main()
