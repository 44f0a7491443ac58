"""Front end of the `lynx` profile."""
