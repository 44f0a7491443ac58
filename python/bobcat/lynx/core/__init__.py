"""The kernel's modules under lynx-agent's paths."""
