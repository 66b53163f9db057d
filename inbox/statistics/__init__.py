"""Shows how an agent did over some days: deliveries, answers and response times."""
