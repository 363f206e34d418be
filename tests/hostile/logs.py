"""Almost valid logs: built field by field after each program's format, then damaged token by token."""

# Logs have long lines.
# ruff: noqa: E501

import gzip
import json
import random
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dumbbell.exporters import export_run
from dumbbell.results.result import load
from hostile.damage import damage_document
from importers.packets import capture, packets
from importers.samples import SAMPLES

NUMBERS = (
    "0", "1", "-1", "7", "00", "1.5", ".5", "5.", "1e3", "1e999", "1e-999", "nan", "inf", "NaN", "-0", "65535", "65536",
    "4294967295", "4294967296", "9223372036854775807", "9223372036854775808", "9" * 19, "9" * 40, "9" * 5000, "0x10",
    "1,5", "1_000", "\u0661\u0662", "\u00b2", "1e18", "99999999999999", "0.000000000000001", "",
)  # fmt: skip
UNITS = ("", "K", "M", "G", "T", "k", "Kb", "Mbit", "bps", "ms", "us", "s", "%", "b", "p", "Bytes", "packets")
TEXTS = ("cubic", "bbr", "ESTAB", "SUM", "sender", "receiver", "(omitted)", "root", "eth0", "::1", "[::]:*", "-", "\x00",
         "\x1b[2J", "\ufeff", "\u2028", "\u0085", "é", "/", ":", ",", "(", ")", "users:((\"a\",pid=1,fd=2))", "null")  # fmt: skip

TOKEN = re.compile(r"\d+(?:\.\d+)?|[A-Za-z_]+|\s+|[^\w\s]")


def number(rng: random.Random) -> str:
    """A number, most often one that a log may have."""
    kind = rng.random()
    if kind < 0.6:
        return str(rng.randrange(10 ** rng.choice((1, 3, 6, 9))))
    if kind < 0.97:
        return f"{rng.random() * 10 ** rng.choice((0, 2, 4)):.{rng.choice((1, 2, 3, 6, 9))}f}"
    return rng.choice(NUMBERS)


def count(rng: random.Random) -> str:
    """A whole number, most often one that a log may have."""
    return str(rng.randrange(10 ** rng.choice((1, 3, 6)))) if rng.random() < 0.985 else number(rng)


def ss(rng: random.Random) -> str:
    """Samples of a few sockets with any fields."""
    keys = (
        "rto backoff ato qack mss pmtu rcvmss advmss cwnd ssthresh bytes_sent bytes_retrans bytes_acked bytes_received "
        "segs_out segs_in data_segs_out data_segs_in lastsnd lastrcv lastack delivered delivered_ce busy unacked lost "
        "sacked dsack_dups fackets reordering reord_seen rcv_rtt rcv_space rcv_ssthresh notsent minrtt rcv_ooopack "
        "snd_wnd rcv_wnd rehash newfield rtt wscale retrans rwnd_limited sndbuf_limited"
    ).split()
    lines, timed = [], rng.random() < 0.7
    for second in range(rng.randrange(1, 4)):
        if timed:
            lines.append(f"Time: {1_700_000_000 + second}.{rng.randrange(10)}")
        if rng.random() < 0.95:
            lines.append("State Recv-Q Send-Q Local Address:Port  Peer Address:Port")
        for port in range(rng.randrange(1, 4)):
            lines.append(f"ESTAB {count(rng)} 0 10.0.0.1:{40_000 + port} 10.0.0.2:{rng.choice(('5201', '*', 'ssh'))}")
            if rng.random() < 0.1:
                continue  # Listening, or taken without -i.
            selected = rng.sample(keys, rng.randrange(1, 12))
            shapes = {"rtt": "{0}/{1}", "wscale": "{0},{1}", "retrans": "{0}/{1}", "busy": "{0}ms",
                      "rwnd_limited": "{0}ms({1}%)", "sndbuf_limited": "{0}ms({1}%)"}  # fmt: skip
            fields = [f"{key}:{shapes.get(key, '{0}').format(count(rng), count(rng))}" for key in selected]
            fields += rng.sample(
                ["send", "pacing_rate", "delivery_rate", f"send {count(rng)}Mbps", "app_limited", "ecn",
                 f"pacing_rate {count(rng)}Gbps/{count(rng)}bps", f"delivery_rate {count(rng)}Kbps",
                 f"bbr:(bw:{count(rng)}Mbps,mrtt:{count(rng)},pacing_gain:{count(rng)},cwnd_gain:2)",
                 f"dctcp:(ce_state:{count(rng)},alpha:{count(rng)},ab_ecn:1,ab_tot:2)", "dctcp:fallback_mode",
                 "skmem:(r0,rb1,t0)", "users:((\"a b\",pid=1,fd=3))", "bbr:(", "bbr:()"], rng.randrange(4),
            )  # fmt: skip
            separator = "\n\t " if rng.random() < 0.1 else " "
            lines.append("\t cubic " + separator.join(fields))
    if rng.random() < 0.3:
        # Lines wrapped as by a terminal, also within a token.
        width = rng.randrange(8, 120)
        lines = [line[at : at + width] for line in lines for at in range(0, max(len(line), 1), width)]
    return "\n".join(lines) + "\n"


def iperf3(rng: random.Random) -> str:
    """A client's or a server's test, with any of the headers."""
    header = rng.choice(("Retr  Cwnd", "Retr", "", "Jitter    Lost/Total Datagrams", "Total Datagrams", "Retransmits"))
    rest = {
        "Retr  Cwnd": "{0}   {1} KBytes", "Retr": "{0}", "": "", "Retransmits": "{0}",
        "Jitter    Lost/Total Datagrams": "0.{0} ms  {0}/{1} (0%)", "Total Datagrams": "{0}",
    }[header]  # fmt: skip
    lines = [rng.choice(("Connecting to host 10.0.0.2, port 5201", "Accepted connection from 10.0.0.1, port 4000")),
             f"Time: {rng.choice(('Sat, 21 Nov 2026 20:36:06 GMT',) * 30 + (number(rng), 'Sat, 99 Nov 2026 20:36:06 GMT', 'Sat, 21 Nov 0001 20:36:06 +2359'))}",
             f"      TCP MSS: {count(rng)} (default)",
             f"[  5] local 10.0.0.1 port {count(rng)} connected to 10.0.0.2 port 5201",
             f"[ ID] Interval           Transfer     Bitrate         {header}"]  # fmt: skip
    for second in range(rng.randrange(1, 5)):
        for stream in rng.choice((("5",), ("5", "7"), ("5", "SUM"))):
            size = f"{number(rng)} {rng.choice('KMG')}Bytes  {number(rng)} Mbits/sec"
            end = rng.choice(("", "", "", "   (omitted)", "   sender", "   receiver"))
            lines.append(
                f"[{stream:>3}]   {second}.00-{second + 1}.00   sec  {size}   {rest.format(count(rng), count(rng))}{end}"
            )
    lines += ["- - - - -", f"[ ID] Interval           Transfer     Bitrate         {rng.choice(('Retr', header))}",
              f"[  5]   0.00-{second + 1}.00   sec  {count(rng)} MBytes  1.0 Mbits/sec  {count(rng)}   sender"]  # fmt: skip
    return "\n".join(lines) + "\n"


def iperf2(rng: random.Random) -> str:
    """A test of one stream, with or without `-e`."""
    enhanced = rng.random() < 0.6
    header = "Write/Err  Rtry     Cwnd/RTT(var)        NetPwr" if enhanced else ""
    lines = ["Client connecting to 10.0.0.2, TCP port 5001",
             f"[  1] local 10.0.0.1 port 38522 connected with 10.0.0.2 port 5001 (icwnd/mss/irtt=14/{count(rng)}/335)",
             f"[ ID] Interval        Transfer    Bandwidth       {header}"]  # fmt: skip
    for second in range(rng.randrange(1, 5)):
        more = f"{count(rng)}/0  {count(rng)}  {count(rng)}K/{count(rng)}({count(rng)}) us  3913"
        lines.append(
            f"[  1] {second}.00-{second + 1}.00 sec  {count(rng)} {rng.choice('KMG')}Bytes  {count(rng)} Mbits/sec  "
            + (more if enhanced else "")
        )
    return "\n".join(lines) + "\n"


def ping(rng: random.Random) -> str:
    """Replies whose sequence numbers wrap, are missing, or are duplicated."""
    stamped = rng.random() < 0.7
    lines = ["PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data."]
    for second in range(rng.randrange(1, 6)):
        stamp = f"[{1_700_000_000 + second}.{rng.randrange(10**6):06}] " if stamped else ""
        seq = rng.choice((str(second),) * 9 + (count(rng),))
        lines.append(f"{stamp}64 bytes from 10.0.0.2: icmp_seq={seq} ttl=64 time={number(rng)} ms")
    lines.append(f"{count(rng)} packets transmitted, {count(rng)} received, 0% packet loss, time 3003ms")
    return "\n".join(lines) + "\n"


def tcp_probe(rng: random.Random) -> str:
    """Events of the tcp_probe module or of its tracepoint."""
    lines, module = [], rng.random() < 0.5
    for second in range(rng.randrange(1, 5)):
        low, high = rng.randrange(2**32), rng.randrange(2 ** rng.choice((16, 16, 32, 32, 32, 33)))
        if module:
            lines.append(
                f"{second}.{rng.randrange(10**9):09} 10.0.0.1:5001 10.0.0.2:5001 32 0x{low:x} 0x{high:x} {count(rng)} "
                f"{count(rng)} {count(rng)} {count(rng)} 29200"
            )
        else:
            lines.append(
                f"  iperf-77 [001] ..s1. {second}.{rng.randrange(10**6):06}: tcp_probe: family=AF_INET src=10.0.0.1:5001 "
                f"dest=10.0.0.2:5001 mark=0x0 data_len=1448 snd_nxt=0x{low:x} snd_una=0x{high:x} snd_cwnd={count(rng)} "
                f"ssthresh={count(rng)} snd_wnd={count(rng)} srtt={count(rng)} rcv_wnd=29200 sock_cookie=1"
            )
    return "\n".join(lines) + "\n"


def tc(rng: random.Random) -> str:
    """Samples of a few disciplines."""
    lines = []
    for second in range(rng.randrange(1, 4)):
        if rng.random() < 0.8:
            lines.append(f"{1_700_000_000 + second}.0")
        for kind in rng.sample(("fq_codel", "tbf", "pfifo", "htb"), rng.randrange(1, 3)):
            lines += [
                f"qdisc {kind} {rng.choice('12')}: dev eth0 root refcnt 2 "
                f"limit {count(rng)}p rate {count(rng)}{rng.choice(('Mbit', 'bit', 'Kbit', 'Tbit'))}",
                f" Sent {count(rng)} bytes {count(rng)} pkt (dropped {count(rng)}, overlimits 2 requeues 0)",
                f" backlog {count(rng)}{rng.choice(('b', 'Kb', 'Mb', 'Gb'))} {count(rng)}p requeues 0",
                f"  maxpacket 1514 new_flow_count 5 ecn_mark {count(rng)}",
            ]
    return "\n".join(lines) + "\n"


def timing(rng: random.Random) -> str:
    """What a shell, GNU time or curl prints."""
    return rng.choice((
        f"real\t{count(rng)}m{number(rng)}s\nuser\t0m0.010s\nsys\t0m0.020s\n",
        f"real {number(rng)}\nuser 0.01\nsys 0.02\n",
        f"0.01user 0.02system {count(rng)}:{count(rng)}:{number(rng)}elapsed 3%CPU (0avgtext)k\n",
        f"time_total: {number(rng)}\nsize_download: {count(rng)}\nhttp_code: {count(rng)}\n",
        f'{{"time_total": {number(rng)}, "size_download": {count(rng)}}}\n',
    ))  # fmt: skip


def qlog(rng: random.Random) -> str:
    """Events of any stack in any form, some of them with a changed value."""
    events, time, packet = [], rng.choice((0.0, 1.8e12)), 0
    for _ in range(rng.randrange(1, 30)):
        time += rng.choice((0, 0.5, 3, 40, 2000 * (rng.random() < 0.05)))
        packet += rng.random() < 0.6
        name, data = _qlog_event(rng, packet)
        event: dict[str, Any] = {"time": round(time, 3), "name": name, "data": data}
        if rng.random() < 0.1:
            event["group_id"] = rng.choice("ab")
        events.append(damage_document(event, rng) if rng.random() < 0.03 else json.dumps(event))
    common = rng.choice(
        ({}, {"time_format": "delta"}, {"reference_time": 1.8e12}, {"reference_time": {"epoch": "unknown"}})
    )
    head = {"vantage_point": {"type": rng.choice(("server", "client", "unknown"))}, "common_fields": common}
    version = {"qlog_version": rng.choice(("0.3", "0.4")), "title": "t"}
    if rng.random() < 0.3:
        around = json.dumps(head)[1:-1]
        listed = f'"events": [{", ".join(events)}]'
        trace = ", ".join((around, listed) if rng.random() < 0.5 else (listed, around))
        return f'{json.dumps(version)[:-1]}, "traces": [{{{trace}}}]}}'
    mark = rng.choice(("\x1e", ""))
    return "".join(f"{mark}{each}\n" for each in (json.dumps({**version, "trace": head}), *events))


def _qlog_event(rng: random.Random, packet: int) -> tuple[str, dict[str, Any]]:
    kind = rng.choice(("metrics", "metrics", "sent", "received", "lost", "state", "closed"))
    schema = rng.choice(("recovery:", "quic:", "transport:", ""))
    header = {"packet_type": rng.choice(("initial", "handshake", "1RTT")), "packet_number": packet}
    if kind == "metrics":
        keys = ("congestion_window", "cwnd", "bytes_in_flight", "packets_in_flight", "smoothed_rtt", "min_rtt", "ssthresh",
                "rtt_variance", "pacing_rate", "cf_delivery_rate", "cf_app_limited")  # fmt: skip
        values = (0, 0.333, 333, 21.5, 12_000, 2**53, 2**64 - 1, "7", True)
        return f"{schema}metrics_updated", {key: rng.choice(values[:7]) for key in rng.sample(keys, 3)}
    if kind in ("sent", "received"):
        frames = [
            {"frame_type": "stream", "stream_id": rng.randrange(3), "offset": rng.randrange(5000),
             "length": rng.randrange(1400), "fin": rng.random() < 0.2},
            {"frame_type": "ack", "acked_ranges": [[max(packet - 3, 0), packet], [0]], "ce": rng.randrange(3)},
            {"frame_type": rng.choice(("handshake_done", "connection_close", "ping"))},
        ]  # fmt: skip
        return f"{schema}packet_{kind}", {"header": header, "frames": rng.sample(frames, rng.randrange(3))}
    if kind == "lost":
        return f"{schema}packet_lost", {"header": header}
    if kind == "state":
        return f"{schema}congestion_state_updated", {"new": rng.choice(("slow_start", "Recovery", "ProbeBW", "a b", 7))}
    return f"{schema}connection_closed", {}


BUILT: dict[str, Callable[[random.Random], str]] = {
    "ss": ss, "iperf3": iperf3, "iperf2": iperf2, "ping": ping, "tcp_probe": tcp_probe, "tc": tc, "time": timing,
    "qlog": qlog,
}  # fmt: skip
DOCUMENTS = ("iperf3-json", "flent", "curl")


def pcap(rng: random.Random) -> bytes:
    """A capture of either kind whose fields and packets are changed."""
    if rng.random() < 0.4:
        return _bytes_changed(capture(modern=rng.random() < 0.5), rng)
    capture_bytes = struct.pack(
        "<IHHiIII", rng.choice((0xA1B2C3D4, 0xA1B23C4D)), 2, 4, 0, 0, 65535, rng.choice((101, 1, 113, 276, 12))
    )
    for time, length, good in packets():
        raw = good
        if rng.random() < 0.3:
            changed = bytearray(raw)
            changed[rng.randrange(len(raw))] = rng.randrange(256)
            raw = bytes(changed[: rng.choice((len(raw), rng.randrange(len(raw) + 1)))])
        seconds = rng.choice((1_700_000_000, 1_700_000_000, 1_700_000_001, 0, 2**32 - 1))
        size = rng.choice((len(raw),) * 60 + (0, len(raw) + 1, 2**24, 2**32 - 1))
        capture_bytes += struct.pack("<IIII", seconds, time, size, rng.choice((length,) * 5 + (0, 2**32 - 1))) + raw
    return capture_bytes


def pcapng(rng: random.Random) -> bytes:
    """Blocks of any kind, with any resolution and offset of time."""
    order = rng.choice("<>")

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        size = struct.pack(f"{order}I", len(body) + 12 + (rng.random() < 0.01) * rng.choice((4, 2**31)))
        return struct.pack(f"{order}I", kind) + size + body + size

    capture_bytes = block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))
    option = struct.pack(f"{order}HHB3x", 9, 1, rng.choice((6, 6, 6, 6, 9, 0, 127, 128, 255, 138)))
    option += struct.pack(f"{order}HHq", 14, 8, rng.choice((0, 0, 0, 0, 1, -1, 2**62, -(2**63)))) + bytes(4)
    capture_bytes += block(1, struct.pack(f"{order}HHI", rng.choice((101, 101, 101, 1, 113, 65535)), 0, 0) + option)
    for time, length, raw in packets():
        stamp = rng.choice((1_700_000_000 * 10**6 + time,) * 60 + (0, 2**64 - 1))
        head = struct.pack(
            f"{order}IIIII", rng.choice((0,) * 90 + (1,)), stamp >> 32, stamp & 0xFFFFFFFF, len(raw), length
        )
        capture_bytes += block(rng.choice((6,) * 60 + (2, 3, 5, 99)), head + raw)
    return _bytes_changed(capture_bytes, rng) if rng.random() < 0.3 else capture_bytes


def _bytes_changed(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        changed[rng.randrange(len(changed))] = rng.choice((0, 255, rng.randrange(256)))
    return bytes(changed[: rng.choice((len(changed), len(changed), rng.randrange(len(changed))))])


def damage_text(text: str, rng: random.Random) -> bytes:
    """The log with tokens replaced, lines moved, ends cut, or bytes of another encoding."""
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        text = rng.choice((_token, _token, _token, _lines, _lines, _ends))(text, rng)
    data = text.encode("utf-8", "surrogatepass")
    kind = rng.randrange(20)
    if kind == 0:
        data = b"\xef\xbb\xbf" + data
    elif kind == 1:
        data = data.replace(b"\n", b"\r\n")
    elif kind == 2:
        data = text.encode("utf-16")
    elif kind == 3:
        at = rng.randrange(len(data) + 1)
        data = data[:at] + rng.choice((b"\0", b"\xff", b"\xe9", b"\x1f\x8b")) + data[at:]
    elif kind == 4:
        data = data.replace(b"\n", b"\r")
    return data


def _token(text: str, rng: random.Random) -> str:
    tokens = TOKEN.findall(text)
    if not tokens:
        return text
    numeric = [index for index, token in enumerate(tokens) if token[0].isdigit()]
    index = rng.choice(numeric) if numeric and rng.random() < 0.6 else rng.randrange(len(tokens))
    other = rng.randrange(len(tokens))
    kind = rng.randrange(6)
    if kind == 0:
        tokens[index] = ""
    elif kind == 1:
        tokens[index] *= rng.choice((2, 2, 50))
    elif kind == 2:
        tokens[index], tokens[other] = tokens[other], tokens[index]
    elif kind == 3:
        tokens[index] = rng.choice(TEXTS + UNITS)
    else:
        tokens[index] = rng.choice(NUMBERS)
    return "".join(tokens)


def _lines(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    index, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(7)
    if kind == 0:
        del lines[index]
    elif kind == 1:
        lines.insert(other, lines[index])
    elif kind == 2:
        lines[index], lines[other] = lines[other], lines[index]
    elif kind == 3:
        lines[index : index + 2] = [" ".join(lines[index : index + 2])]
    elif kind == 4 and lines[index]:
        at = rng.randrange(len(lines[index]))
        lines[index : index + 1] = [lines[index][:at], lines[index][at:]]
    elif kind == 5:
        lines = lines * 2
    else:
        rng.shuffle(lines)
    return "\n".join(lines)


def _ends(text: str, rng: random.Random) -> str:
    other = rng.choice(list(SAMPLES.values()))
    return rng.choice((text[: rng.randrange(len(text) + 1)], text + other, other + text, text.rstrip("\n"), text * 3))


FORMATS = (*SAMPLES, *BUILT, "pcap", "pcapng", "csv", "jsonl", "flent.gz")


def almost_valid_log(format_: str, run: Path, folder: Path, rng: random.Random) -> Path:
    """Write an almost valid log of this format and return its path; `run` is a result for the formats of `export`."""
    file = folder / "log"
    if format_ in ("csv", "jsonl", "flent.gz"):
        return _own_export(format_, run, folder, rng)
    if format_ in ("pcap", "pcapng"):
        file.write_bytes(pcap(rng) if format_ == "pcap" else pcapng(rng))
    elif format_ in DOCUMENTS and rng.random() < 0.7:
        file.write_text(damage_document(json.loads(SAMPLES[format_]), rng))
    elif format_ in ("iperf3-stream", "tc-json") and rng.random() < 0.7:
        file.write_text(_each_document(SAMPLES[format_], rng))
    elif format_ in BUILT and rng.random() < 0.7:
        file.write_bytes(damage_text(BUILT[format_](rng), rng))
    else:
        file.write_bytes(damage_text(SAMPLES[format_], rng))
    return file


def _each_document(text: str, rng: random.Random) -> str:
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(text):
        if text[at] in "{[":
            value, end = decoder.raw_decode(text, at)
            found.append(damage_document(value, rng) if rng.random() < 0.4 else text[at:end])
            at = end
        else:
            found.append(text[at])
            at += 1
    return "".join(found)


def _own_export(format_: str, run: Path, folder: Path, rng: random.Random) -> Path:
    out = folder / f"run.{format_}"
    if format_ == "flent.gz":
        out = folder / "run.flent"
    export_run(load(run), out, {"csv": "csv", "jsonl": "jsonl", "flent.gz": "flent"}[format_])
    if format_ == "flent.gz":
        document: Any = json.loads(gzip.decompress(out.read_bytes()))
        out.write_text(damage_document(document, rng))
        return out
    if format_ == "csv":
        name = rng.choice(("run.json", "flows.csv", "queues.csv", "probes.csv"))
        if name == "run.json":
            (out / name).write_text(damage_document(json.loads((out / name).read_text()), rng))
        else:
            lines = (out / name).read_text().split("\n")
            kept = "\n".join([*lines[: rng.choice((1, 3, 8))], ""])
            (out / name).write_bytes(damage_text(kept, rng))
        return out
    lines = out.read_text().split("\n")
    if rng.random() < 0.5:
        index = rng.choice((0, 0, rng.randrange(len(lines) - 1)))
        lines[index] = damage_document(json.loads(lines[index]), rng)
        out.write_text("\n".join(lines))
    else:
        out.write_bytes(damage_text("\n".join(lines), rng))
    return out
