"""Has the drivers that come with the kit: the person at a terminal, and an inbox of Wake."""
