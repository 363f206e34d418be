"""Downloads over real sockets: an HTTP server that can set its congestion control, and a client that compares them.

```text
server           listeners, connections, shutdown
├── http_connection  one connection: requests and responses
├── http_request     parses requests: a size, a file, a range, a congestion control
├── responses        short pages and JSON
├── body_sender      sends a response body
├── payload          the random bytes that are sent, shared by all connections
├── files            serves files of a folder
├── server_limits    rate and connection limits, global and per address
└── statistics       samples of a response's socket, kept for a while
client           one download and its times
└── response_reader  reads a response
ab_session       alternating downloads until the comparison is decided
├── session_text     a session as sentences and JSON
└── session_result   a session as a result folder
channel          a non-blocking socket for asyncio, optionally with TLS
tcp_socket       a socket's congestion control and TCP_INFO
```

`dumbbell.analysis.sequential` evaluates the times and decides when to stop.
"""
