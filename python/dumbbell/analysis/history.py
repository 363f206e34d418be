"""A ring buffer of the last samples of every connection, for the sparklines and graphs of `dumbbell watch`.

Memory is proportional to the number of simultaneous connections. Writing a sample, and reading any number of
connections, takes a few operations on whole arrays.
"""

import numpy as np
import polars as pl

__all__ = ["HISTORY", "METRICS", "History"]

NS = 1_000_000_000
METRICS = ("send_bps", "recv_bps", "rtt_ns", "cwnd_packets", "inflight_packets", "retrans_delta")
HISTORY = 120
"""Samples kept per connection: 4 bytes per sample and metric, 58 MB for 20,000 connections."""


class History:
    """A ring buffer: one column per sample, one row per open or recently closed connection."""

    def __init__(self) -> None:
        self._cookies = np.zeros(0, np.int64)  # Sorted.
        self._slots = np.zeros(0, np.int64)
        self._free = np.zeros(0, np.int64)
        self._rings = {name: np.zeros((0, HISTORY), np.float32) for name in METRICS}
        self._times = np.full(HISTORY, np.nan)
        self._at = -1

    def add(self, now: pl.DataFrame, time_ns: int, closed: set[int]) -> None:
        """Add a sample; reuse rows of connections that are neither in it nor in `closed`."""
        cookies = now["cookie"].to_numpy()
        self._free_rows(np.isin(self._cookies, np.union1d(cookies, np.array(sorted(closed), np.int64))))
        self._add_rows(np.setdiff1d(cookies, self._cookies))
        self._at = (self._at + 1) % HISTORY
        self._times[self._at] = time_ns / NS
        slots = self._slots[np.searchsorted(self._cookies, cookies)]
        for name, ring in self._rings.items():
            ring[:, self._at] = np.nan
            ring[slots, self._at] = now[name].cast(pl.Float32).to_numpy()

    def read(self, cookies: np.ndarray, metric: str, samples: int) -> np.ndarray:
        """See `Live.past`."""
        found = np.full((len(cookies), samples), np.nan, np.float32)
        if len(self._cookies):
            rows = np.minimum(np.searchsorted(self._cookies, cookies), len(self._cookies) - 1)
            known = self._cookies[rows] == cookies
            found[known] = self._rings[metric][self._slots[rows[known]]][:, self._order(samples)]
        return found

    def times_s(self, samples: int) -> np.ndarray:
        """See `Live.times_s`."""
        times: np.ndarray = self._times[self._order(samples)] - self._times[self._at]
        return times

    def _order(self, samples: int) -> np.ndarray:
        return (self._at + 1 - samples + np.arange(samples)) % HISTORY

    def _free_rows(self, kept: np.ndarray) -> None:
        self._free = np.concatenate([self._free, self._slots[~kept]])
        self._cookies, self._slots = self._cookies[kept], self._slots[kept]

    def _add_rows(self, new: np.ndarray) -> None:
        if not len(new):
            return
        if missing := max(len(new) - len(self._free), 0):
            size = len(self._cookies) + len(self._free)
            # Grow by half, because growing copies everything.
            grown = max(missing, size // 2, 64)
            self._free = np.concatenate([self._free, np.arange(size, size + grown)])
            for name, ring in self._rings.items():
                self._rings[name] = np.concatenate([ring, np.full((grown, HISTORY), np.nan, np.float32)])
        taken, self._free = self._free[: len(new)], self._free[len(new) :]
        for ring in self._rings.values():
            ring[taken] = np.nan
        cookies = np.concatenate([self._cookies, new])
        order = np.argsort(cookies, kind="stable")
        self._cookies, self._slots = cookies[order], np.concatenate([self._slots, taken])[order]
