"""Values of the package: requests, decisions, runs, and the JSON forms of requests."""
