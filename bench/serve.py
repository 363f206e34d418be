"""Load the server with 2,000 clients at once and with hostile ones; measure its memory and a normal client's time.

Runs on the loopback device of a network namespace (`unshare -n`). Each workload has a limited duration and a new
server; a normal client downloads 5 MB repeatedly.
"""

import argparse
import asyncio
import contextlib
import os
import random
import resource
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

WORKLOAD_S = 8.0
GOOD_BYTES = 5_000_000
CLIENTS = 2_000
Workload = Callable[[int, float], Awaitable[str]]
Act = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).with_name("serve.md"))
    parser.add_argument("--inside", action="store_true", help="already in a network namespace")
    options = parser.parse_args()
    if not options.inside:
        command = [sys.executable, __file__, "--inside", "-o", str(options.output)]
        sys.exit(subprocess.run(["unshare", "-n", *command], check=False).returncode)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    workloads: dict[str, Workload] = {
        "no other client": idle,
        f"{CLIENTS:,} clients at once, 100 kB each, repeatedly": crowd,
        f"{CLIENTS:,} clients that read 1 kB/s of 900 MB": slow,
        f"{CLIENTS:,} connections that send nothing": silent,
        f"{CLIENTS:,} connections that send a byte of a request a second": loris,
        "random bytes, as fast as the server answers, from 50": nonsense,
        "requests with 100 kB of fields, from 50": oversized,
        "500 clients that disconnect in the middle, repeatedly": leavers,
    }
    rows = [row(name, workload) for name, workload in workloads.items()]
    options.output.write_text(page(rows, cpu_of_a_download()), encoding="utf-8")


def row(name: str, workload: Workload) -> str:
    with served() as (process, port):
        calm_mb = memory_mb(process.pid, "VmRSS")
        spent = cpu_s(process.pid)
        times, outcome = asyncio.run(with_client(workload, port))
        spent = cpu_s(process.pid) - spent
        peak_mb, after = memory_mb(process.pid, "VmHWM"), asyncio.run(good(port))
    middle = f"{1e3 * statistics.median(times):.0f}" if times else "none ended"
    worst = f"{1e3 * max(times):.0f}" if times else ""
    print(name, outcome, middle, flush=True)
    cells = [name, outcome, f"{calm_mb:.0f}", f"{peak_mb:.0f}", f"{100 * spent / WORKLOAD_S:.0f} %", middle, worst]
    return "| " + " | ".join([*cells, f"{1e3 * after:.0f}"]) + " |"


@contextlib.contextmanager
def served() -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """Start a server; yield it with its port."""
    command = [sys.executable, "-m", "dumbbell", "serve", "--port", "0", "--quiet", "--timeout", "4s"]
    command += ["--max-clients", "2200", "--max-per-address", "2200"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        yield process, int(line.split()[3].rstrip("/").rsplit(":", 1)[1])
    finally:
        process.terminate()
        process.wait(30)


async def with_client(workload: Workload, port: int) -> tuple[list[float], str]:
    """Run the workload; return the download times of a normal client, and the workload's outcome."""
    end = time.monotonic() + WORKLOAD_S
    working = asyncio.ensure_future(workload(port, end))
    await asyncio.sleep(1.0)
    times = []
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            times.append(await good(port))
        await asyncio.sleep(0.1)
    return times, await working


async def good(port: int) -> float:
    """A download by curl, which times itself: this process is busy with the other clients."""
    url = f"http://127.0.0.1:{port}/bytes/{GOOD_BYTES}"
    command = ["curl", "-s", "-f", "-o", "/dev/null", "--max-time", "20", "-w", "%{time_total}", url]
    curl = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    printed, _ = await curl.communicate()
    if curl.returncode:
        raise ConnectionError(f"curl ended with {curl.returncode}")
    return float(printed)


async def idle(_port: int, end: float) -> str:
    await asyncio.sleep(max(0.0, end - time.monotonic()))
    return ""


async def crowd(port: int, end: float) -> str:
    done = await many(CLIENTS, port, end, lambda reader, writer: download(reader, writer, 100_000))
    return f"{done} downloads"


async def slow(port: int, end: float) -> str:
    async def read_slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request(writer, 900_000_000)
        while await reader.read(1000):
            await asyncio.sleep(1.0)

    return f"{await many(CLIENTS, port, end, read_slowly)} were cut off"


async def silent(port: int, end: float) -> str:
    async def wait(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read(1)

    return f"{await many(CLIENTS, port, end, wait)} were closed"


async def loris(port: int, end: float) -> str:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for byte in b"GET /bytes/1 HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 1000:
            writer.write(bytes([byte]))
            await asyncio.sleep(1.0)
            if reader.at_eof() or writer.is_closing():
                return

    return f"{await many(CLIENTS, port, end, drip)} were closed"


async def nonsense(port: int, end: float) -> str:
    rng = random.Random(8)

    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(rng.randbytes(300))
        writer.write_eof()
        await reader.read()

    return f"{await many(50, port, end, babble)} answered or closed"


async def oversized(port: int, end: float) -> str:
    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 100_000)
        await reader.read()

    return f"{await many(50, port, end, shout)} answered or closed"


async def leavers(port: int, end: float) -> str:
    async def leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request(writer, 50_000_000)
        await reader.readexactly(20_000)
        writer.transport.abort()

    return f"{await many(500, port, end, leave)} disconnected"


async def many(count: int, port: int, end: float, act: Act) -> int:
    """Run `count` clients at once, each repeatedly until the end; return how many finished."""
    done = 0

    async def one() -> None:
        nonlocal done
        while time.monotonic() < end:
            writer = None
            try:
                async with asyncio.timeout_at(asyncio.get_running_loop().time() + max(0.01, end - time.monotonic())):
                    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=4096)
                    await act(reader, writer)
                    done += 1
            except TimeoutError:
                return
            except (OSError, asyncio.IncompleteReadError):
                done += 1
            finally:
                if writer is not None:
                    writer.transport.abort()

    await asyncio.gather(*(one() for _ in range(count)))
    return done


async def download(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int) -> None:
    request(writer, size)
    while await reader.read(65536):
        pass


def request(writer: asyncio.StreamWriter, size: int) -> None:
    writer.write(f"GET /bytes/{size} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())


def memory_mb(pid: int, key: str) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith(key)).split()[1]) / 1024


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_of_a_download() -> float:
    """CPU seconds of the server for 61 MB, the mean of 20."""
    with served() as (process, port):
        asyncio.run(good(port))
        before = cpu_s(process.pid)
        for _ in range(20):
            subprocess.run(["curl", "-s", "-o", "/dev/null", f"http://127.0.0.1:{port}/bytes/61MB"], check=True)
        return (cpu_s(process.pid) - before) / 20


def page(rows: list[str], cpu: float) -> str:
    return HEAD.format(
        date=time.strftime("%-d %B %Y"),
        load=os.getloadavg()[0],
        workload=WORKLOAD_S,
        rows="\n".join(rows),
        cpu=1e3 * cpu,
    )


HEAD = """# dumbbell serve under load

On the loopback of its own network namespace, 2 cores that also run the clients and other work (load average {load:.0f}
at the end), {date}. Made by `python bench/serve.py -o bench/serve.md`; each workload takes {workload:.0f} s, with
`--timeout 4s --max-clients 2200 --max-per-address 2200`. Memory is the server's resident set (the shared 4 MiB block is
in it once), CPU is of one core. The well-behaved client, curl, downloads 5 MB repeatedly; the last column is its time
after the workload.

| workload | | RSS before, MB | RSS peak, MB | CPU | well-behaved client, median ms | worst ms | after, ms |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
{rows}

61 MB by sendfile cost the server {cpu:.0f} ms of CPU time, the kernel's TCP included (mean of 20, curl at the
other end).

Memory grows by about 10 KB per client in every workload. Next to 2,000 downloads, or 500 that restart all the time, the
well-behaved client gets its share of one process; no client is refused, and its time recovers when they end.
"""


if __name__ == "__main__":
    main()
