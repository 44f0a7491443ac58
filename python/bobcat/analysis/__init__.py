"""What can be said about a policy before it decides anything: lints, and the check that runs them."""
