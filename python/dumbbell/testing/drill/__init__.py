"""packetdrill's scripts on the simulator: the language's part that drives one endpoint, read and run by our own code.

```text
reader       a script's text as statements, or why not
statements   what a script says: packets, calls, commands, assertions
assertions   Python's `assert` about tcp_info in %{ }%, evaluated without Python
setup        the endpoint that a script's commands, options and calls ask for
run          plays the peer and the program in virtual time, and compares what the endpoint sends
```
"""
