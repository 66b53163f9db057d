"""Shows an agent's statistics over some days: deliveries, answers and response times."""
