"""Shows that a person approves what they see, and that an agent does what was approved."""
