"""The vendors' adapters under lynx-agent's paths. Importing one imports its vendor's package on use."""
