"""Django's backend for PostgreSQL, whose pool gives each thread a turn in the order of arrival."""
