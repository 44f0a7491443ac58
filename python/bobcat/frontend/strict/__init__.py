"""Front end of the strict profile."""
