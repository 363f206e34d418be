"""A result folder: its manifest, its tables, and how both are read and written."""
