"""Static analysis of policies: lints, and the check that runs them."""
