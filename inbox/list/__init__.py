"""Lists the deliveries that wait for a person, in four sections."""
