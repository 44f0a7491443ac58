"""Permissions of coding agents as policies: `bobcat import`."""
