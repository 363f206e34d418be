"""The Linux kernel in virtual time as an engine."""
