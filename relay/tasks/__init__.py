"""Changes tasks: as callers, people and connectors act, and as time passes."""
