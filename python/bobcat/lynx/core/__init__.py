"""The runtime's modules under lynx-agent's paths."""
