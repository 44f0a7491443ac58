"""Front end of rules that are built in Python."""
