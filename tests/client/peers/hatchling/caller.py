"""Builds the wheel of the project in the current directory, and prints its name."""

import sys

from hatchling import build

sys.stdout.write(build.build_wheel(sys.argv[1]))
