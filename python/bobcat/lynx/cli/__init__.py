"""lynx-agent's command line."""
