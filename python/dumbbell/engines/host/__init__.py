"""The host engine: the kernel of this host, in network namespaces."""
