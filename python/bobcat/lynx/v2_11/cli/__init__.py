"""The command line, as lynx-agent 2.11 has it."""
