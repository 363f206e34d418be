"""Logs in the programs' formats, written by hand from their documentation; `examples/logs` has real ones."""

import json
from pathlib import Path

IPERF3 = """iperf 3.12
Linux host 6.12.0 #1 SMP x86_64
Control connection MSS 1448
Time: Sat, 21 Nov 2026 20:36:06 GMT
Connecting to host 10.0.0.2, port 5201
      Cookie: abcdefghijklmnop
      TCP MSS: 1448 (default)
[  5] local 10.0.0.1 port 40000 connected to 10.0.0.2 port 5201
[  7] local 10.0.0.1 port 40002 connected to 10.0.0.2 port 5201
Starting Test: protocol: TCP, 2 streams, 131072 byte blocks, omitting 1 seconds, 2 second test, tos 0
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec  9.00 MBytes  75.5 Mbits/sec    9    141 KBytes       (omitted)
[  7]   0.00-1.00   sec  9.00 MBytes  75.5 Mbits/sec    9    141 KBytes       (omitted)
[SUM]   0.00-1.00   sec  18.0 MBytes   151 Mbits/sec   18             (omitted)
- - - - - - - - - - - - - - - - - - - - - - - - -
[  5]   0.00-1.00   sec  1.00 MBytes  8.39 Mbits/sec    3    141 KBytes       
[  7]   0.00-1.00   sec   512 KBytes  4.19 Mbits/sec    0   14.1 KBytes       
[SUM]   0.00-1.00   sec  1.50 MBytes  12.6 Mbits/sec    3             
- - - - - - - - - - - - - - - - - - - - - - - - -
[  5]   1.00-2.00   sec  2.00 MBytes  16.8 Mbits/sec    4    282 KBytes       
[  7]   1.00-2.00   sec  0.00 Bytes  0.00 bits/sec    1   2.83 KBytes       
[SUM]   1.00-2.00   sec  2.00 MBytes  16.8 Mbits/sec    5             
- - - - - - - - - - - - - - - - - - - - - - - - -
Test Complete. Summary Results:
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-2.00   sec  3.00 MBytes  12.6 Mbits/sec    7             sender
[  5]   0.00-2.04   sec  2.90 MBytes  11.9 Mbits/sec                  receiver
[  7]   0.00-2.00   sec   512 KBytes  2.10 Mbits/sec    1             sender
[  7]   0.00-2.04   sec   500 KBytes  2.01 Mbits/sec                  receiver
[SUM]   0.00-2.00   sec  3.50 MBytes  14.7 Mbits/sec    8             sender
[SUM]   0.00-2.04   sec  3.39 MBytes  13.9 Mbits/sec                  receiver
CPU Utilization: local/sender 1.0% (0.1%u/0.9%s), remote/receiver 0.5% (0.1%u/0.4%s)
snd_tcp_congestion bbr
rcv_tcp_congestion cubic

iperf Done.
"""  # noqa: W291

IPERF3_OLD_SERVER = """-----------------------------------------------------------
Server listening on 5201
-----------------------------------------------------------
Accepted connection from 10.0.0.1, port 40000
[  5] local 10.0.0.2 port 5201 connected to 10.0.0.1 port 40002
[ ID] Interval           Transfer     Bandwidth
[  5]   0.00-1.00   sec   112 MBytes   941 Mbits/sec                  
[  5]   1.00-2.00   sec   112 MBytes   942 Mbits/sec                  
[  5]   2.00-2.04   sec  4.50 MBytes   940 Mbits/sec                  
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bandwidth
[  5]   0.00-2.04   sec  0.00 Bytes  0.00 bits/sec                  sender
[  5]   0.00-2.04   sec   229 MBytes   941 Mbits/sec                  receiver
"""  # noqa: W291


def _interval(start: int, count: int, retransmits: int, cwnd: int) -> dict[str, object]:
    return {
        "socket": 5, "start": start, "end": start + 1, "seconds": 1, "bytes": count, "bits_per_second": 8.0 * count,
        "retransmits": retransmits, "snd_cwnd": cwnd, "rtt": 20123, "rttvar": 456, "omitted": False, "sender": True,
    }  # fmt: skip


IPERF3_START = {
    "connected": [{"socket": 5, "local_host": "10.0.0.1", "local_port": 4, "remote_host": "b", "remote_port": 5}],
    "version": "iperf 3.12", "timestamp": {"time": "x", "timesecs": 1700000000}, "tcp_mss_default": 1448,
    "connecting_to": {"host": "10.0.0.2", "port": 5201}, "test_start": {"protocol": "TCP", "reverse": 0},
}  # fmt: skip
IPERF3_INTERVALS = [{"streams": [_interval(0, 1_000_003, 2, 14480)]}, {"streams": [_interval(1, 2_000_001, 5, 28960)]}]
IPERF3_END = {"streams": [{"sender": {"bytes": 3_000_004, "retransmits": 7}}], "sender_tcp_congestion": "bbr"}
IPERF3_JSON = json.dumps({"start": IPERF3_START, "intervals": IPERF3_INTERVALS, "end": IPERF3_END}, indent="\t")
IPERF3_STREAM = "".join(
    json.dumps({"event": event, "data": data}) + "\n"
    for event, data in [
        ("start", IPERF3_START),
        *(("interval", each) for each in IPERF3_INTERVALS),
        ("end", IPERF3_END),
    ]
)

IPERF2 = """------------------------------------------------------------
Client connecting to 10.0.0.2, TCP port 5001 with pid 77 (1 flows)
Write buffer size: 131072 Byte
TCP congestion control set to cubic
TCP window size: 85.0 KByte (default)
------------------------------------------------------------
[  1] local 10.0.0.1 port 38522 connected with 10.0.0.2 port 5001 (icwnd/mss/irtt=14/1448/335)
[ ID] Interval        Transfer    Bandwidth       Write/Err  Rtry     Cwnd/RTT(var)        NetPwr
[  1] 0.00-1.00 sec  1.25 MBytes  10.5 Mbits/sec  11/0       2       14K/335(2) us  3913
[  1] 1.00-2.00 sec  2.50 MBytes  21.0 Mbits/sec  20/0       3       28K/400(9) us  6553
[  1] 0.00-2.00 sec  3.75 MBytes  15.7 Mbits/sec  31/0       5       28K/400(9) us  4915
"""

SS = """Time: 1700000000.5
State Recv-Q Send-Q Local Address:Port  Peer Address:Port
ESTAB 0      1448   10.0.0.1:40000      10.0.0.2:5201
\t cubic wscale:7,7 rto:204 rtt:3.2/0.5 mss:1448 pmtu:1500 cwnd:10 ssthresh:7 bytes_sent:30000 bytes_acked:20000 segs_out:21 data_segs_out:20 send 36.2Mbps pacing_rate 43.4Mbps delivery_rate 18Mbps delivered:15 busy:200ms rwnd_limited:40ms(20.0%) unacked:7 retrans:1/2 lost:1 sacked:2 dsack_dups:1 rcv_space:14480 snd_wnd:64256 minrtt:3 newfield:9
ESTAB 0      0      10.0.0.1:40002      10.0.0.2:5202
\t bbr wscale:7,7 rto:204 rtt:3/1 mss:1448 cwnd:20 bytes_acked:100 bbr:(bw:1.5Gbps,mrtt:3,pacing_gain:1.25,cwnd_gain:2) pacing_rate 1.85Gbps/2Gbps minrtt:3
---
Time: 1700000001.5
State Recv-Q Send-Q Local Address:Port  Peer Address:Port
ESTAB 0      1448   10.0.0.1:40000      10.0.0.2:5201
\t cubic wscale:7,7 rto:204 rtt:4.2/0.5 mss:1448 cwnd:12 ssthresh:7 bytes_sent:90000 bytes_acked:80000 segs_out:61 data_segs_out:60 retrans:0/5 minrtt:3
"""  # noqa: E501

PING = """PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.
[1700000000.020000] 64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=20.0 ms
[1700000002.030000] 64 bytes from 10.0.0.2: icmp_seq=3 ttl=64 time=30.5 ms

--- 10.0.0.2 ping statistics ---
4 packets transmitted, 2 received, 50% packet loss, time 3003ms
rtt min/avg/max/mdev = 20.000/25.250/30.500/5.250 ms
"""

TCP_PROBE = """0.000100000 10.0.0.1:5001 10.0.0.2:5001 32 0xfffffff0 0xffffff00 10 2147483647 64256 20000 29200
0.100100000 10.0.0.1:5001 10.0.0.2:5001 32 0x00001000 0x00000100 14 7 64256 21000 29200
"""
TCP_EVENT = """# tracer: nop
#
   iperf-77 [001] ..s1. 5.123456: tcp_probe: family=AF_INET src=10.0.0.1:5001 dest=10.0.0.2:5001 mark=0x0 data_len=1448 snd_nxt=0x2000 snd_una=0x1000 snd_cwnd=10 ssthresh=2147483647 snd_wnd=64256 srtt=20000 rcv_wnd=29200 sock_cookie=1 skbaddr=0 skaddr=0 sock_source=2
"""  # noqa: E501

TC = """1700000000.000000000
qdisc fq_codel 10: dev eth0 root refcnt 2 limit 1000p flows 1024 quantum 1514 target 5ms interval 100ms ecn
 Sent 1000 bytes 10 pkt (dropped 1, overlimits 2 requeues 0)
 backlog 12Kb 8p requeues 0
  maxpacket 1514 drop_overlimit 0 new_flow_count 5 ecn_mark 3
  new_flows_len 0 old_flows_len 1
qdisc tbf 1: dev eth1 root refcnt 2 rate 80Mbit burst 1600b lat 50ms
 Sent 500 bytes 5 pkt (dropped 0, overlimits 0 requeues 0)
 backlog 1000b 1p requeues 0
1700000001.000000000
qdisc fq_codel 10: dev eth0 root refcnt 2 limit 1000p flows 1024 quantum 1514 target 5ms interval 100ms ecn
 Sent 5000 bytes 50 pkt (dropped 4, overlimits 2 requeues 0)
 backlog 0b 0p requeues 0
  maxpacket 1514 drop_overlimit 0 new_flow_count 5 ecn_mark 7
  new_flows_len 0 old_flows_len 1
"""


def _discipline(sent: int, drops: int) -> list[dict[str, object]]:
    return [{
        "kind": "fq_codel", "handle": "10:", "dev": "eth0", "root": True, "options": {"limit": 1000, "ecn": True},
        "bytes": sent, "packets": 10, "drops": drops, "overlimits": 0, "requeues": 0, "backlog": 3028, "qlen": 2,
        "ecn_mark": 3,
    }]  # fmt: skip


TC_JSON = (
    f"1700000000.0\n{json.dumps(_discipline(100, 1))}\n1700000000.5\n{json.dumps(_discipline(900, 4), indent=2)}\n"
)

TIME = "real\t0m1.052s\nuser\t0m0.010s\nsys\t0m0.020s\n"
CURL = json.dumps({"time_total": 1.049912, "size_download": 61000000, "http_code": 200, "url_effective": "x"})
CURL_LINES = "time_total: 1.049912\nsize_download: 61000000\nhttp_code: 200\n"

FLENT = json.dumps({
    "version": 4,
    "metadata": {
        "NAME": "tcp_nup", "T0": "2023-11-14T22:13:20.000000Z", "FLENT_VERSION": "2.1.1", "STEP_SIZE": 0.5,
        "SERIES_META": {"TCP upload::1": {"UNITS": "Mbits/s", "CONG_CONTROL": "bbr"},
                        "Ping (ms) ICMP": {"UNITS": "ms"}},
    },
    "x_values": [0.0, 0.5, 1.0],
    "results": {"TCP upload::1": [None, 8.0, 16.0], "TCP upload sum": [None, 8.0, 16.0],
                "Ping (ms) ICMP": [20.0, 21.0, 22.0]},
    "raw_values": {
        "TCP upload::1": [
            {"t": 1700000000.5, "dur": 0.5, "val": 8.0}, {"t": 1700000000.75, "tcp_cwnd": 33, "tcp_rtt": 20.5},
            {"t": 1700000001.0, "dur": 0.5, "val": 16.0},
        ],
        "Ping (ms) ICMP": [{"t": 1700000000.02, "val": 20.0, "seq": 1.0}],
        "qdisc_stats_host": [{"t": 1700000000.0, "dropped": 0.0, "backlog_pkts": 3.0},
                             {"t": 1700000001.0, "dropped": 5.0}],
    },
})  # fmt: skip


QLOG = "".join(
    "\x1e" + json.dumps(each) + "\n"
    for each in (
        {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {"common_fields": {"time_format": "relative"}}},
        {
            "time": 1.5,
            "name": "recovery:metrics_updated",
            "data": {"congestion_window": 12000, "bytes_in_flight": 1200},
        },
        {"time": 21.5, "name": "recovery:metrics_updated", "data": {"smoothed_rtt": 20.5, "min_rtt": 19}},
        {"time": 30, "name": "recovery:packet_lost", "data": {}},
        {"time": 41, "name": "recovery:metrics_updated", "data": {"congestion_window": 6000, "ssthresh": 6000}},
    )
)


def _of(name: str) -> str:
    return (Path(__file__).parent / "logs" / name).read_text(encoding="utf-8")


FPING = """192.0.2.1 : [0], 64 bytes, 12.0 ms (12.0 avg, 0% loss)
192.0.2.1 : [1], timed out (12.0 avg, 50% loss)
192.0.2.1 : [2], 64 bytes, 14.0 ms (13.0 avg, 33% loss)

192.0.2.1 : xmt/rcv/%loss = 3/2/33%, min/avg/max = 12.0/13.0/14.0
"""
PING_WINDOWS = """Pinging example.com [192.0.2.1] with 32 bytes of data:
Reply from 192.0.2.1: bytes=32 time=12ms TTL=57
Request timed out.
Reply from 192.0.2.1: bytes=32 time=14ms TTL=57

Ping statistics for 192.0.2.1:
    Packets: Sent = 3, Received = 2, Lost = 1 (33% loss),
Approximate round trip times in milli-seconds:
    Minimum = 12ms, Maximum = 14ms, Average = 13ms
"""
WGET = """--2026-11-27 13:34:34--  http://192.0.2.1/f
Connecting to 192.0.2.1:80... connected.
HTTP request sent, awaiting response... 200 OK
Length: 30000000 (29M) [application/octet-stream]
Saving to: ‘f’

f                   100%[===================>]  28.61M  15.3MB/s    in 1m 1.9s

2026-11-27 13:35:36 (473 KB/s) - ‘f’ saved [30000000/30000000]

"""

SAMPLES = {
    "iperf3": IPERF3, "iperf3-server": IPERF3_OLD_SERVER, "iperf3-json": IPERF3_JSON, "iperf3-stream": IPERF3_STREAM,
    "iperf2": IPERF2, "ss": SS, "ping": PING, "tcp_probe": TCP_PROBE, "tcp_event": TCP_EVENT, "tc": TC,
    "tc-json": TC_JSON, "time": TIME, "curl": CURL, "curl-lines": CURL_LINES, "flent": FLENT,
    "fping": FPING, "ping-windows": PING_WINDOWS, "wget": WGET, "curl-meter": _of("curl-meter.txt"),
    "iperf3-bidir": _of("iperf3-bidir.txt"), "iperf3-server-output": _of("iperf3-V-server-output.txt"),
    "iperf2-csv": _of("iperf2-yC-P.txt"), "iperf2-both": _of("iperf2-fd-e.txt"),
    "iperf2-server": _of("iperf2-server-sequential.txt"), "ss-prefixed": _of("ss-prefixed-by-ts.txt"),
    "tc-mq": _of("tc-mq.txt"), "qlog": QLOG,
}  # fmt: skip
"""All samples by name."""
