"""QUIC stacks: built once from their registries into the cache, behind one command line.

```text
store        the stacks that `crates/plan` declares; those that are built, with the commands of their programs
build        builds a stack: its registry's own tool, our driver
certificate  the server's certificate: valid at every date, of the same length everywhere
drivers/     our client and server for each stack
```

A driver is called as `server --listen IP:PORT --cc NAME --cert FILE --key FILE [--qlog FILE]` and
`client --connect IP:PORT [--bytes N] [--qlog FILE]`. The client asks on one stream, the server sends zeros: N bytes, or
until the client gets SIGTERM. The server ends with SIGTERM, then its qlog is complete. Both exit with status 0, and
with status 2 and a line on standard error for a wrong request.
"""

from dumbbell.stacks.build import build
from dumbbell.stacks.store import Built, Stack, find, named, remove, stacks

__all__ = ["Built", "Stack", "build", "find", "named", "remove", "stacks"]
