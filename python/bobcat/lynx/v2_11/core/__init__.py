"""The runtime's modules, as lynx-agent 2.11 has them."""
