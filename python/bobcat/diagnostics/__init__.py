"""Findings about policies: values, the catalogue of codes, and their rendering."""
