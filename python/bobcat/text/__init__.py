"""Text of values: JSON for records, and safe text for people."""
