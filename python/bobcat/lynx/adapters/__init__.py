"""The vendors' adapters under lynx-agent's paths. The vendor's package is imported on use."""
