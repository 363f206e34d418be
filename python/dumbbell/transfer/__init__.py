"""Downloads over real sockets: an HTTP server that names its controller, and a client that compares them.

```text
channel     a non-blocking socket, with TLS or without, that asyncio waits for
sockets     a socket's controller and its vital signs, as this kernel tells them
wire        what a request asks: a size, a file, a range, a controller; or why not
limits      how much a server gives, to all and to one address
files       a folder's files and nothing else
payload     the bytes that are sent, once in memory for everybody
statistics  samples of one response's socket; how many of them are kept, and how long
answers     pages and JSON that the server says of itself
exchange    one connection: requests in, responses out
server      listeners, connections, the end
client      one download and its times
reading     a response as bytes come in
session     downloads in turn, A B A B, until the decision is made
words       a session in sentences
record      a session as a result folder
```

What the times mean, and when enough is known, is `dumbbell.analysis.sequential`; what people see is `dumbbell.cli`.
"""
