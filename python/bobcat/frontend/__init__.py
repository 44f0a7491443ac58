"""Front ends: policy sources to IR, with spans and diagnostics. Compile time only."""
