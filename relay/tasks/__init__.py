"""Changes tasks when callers, people and connectors act, and as time passes."""
