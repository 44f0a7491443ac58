"""One lint per file: `check(policy, source_map)` gives its findings. `analysis.registry` lists them."""
