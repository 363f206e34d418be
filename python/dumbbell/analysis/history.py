"""The last looks of every connection, in a ring: what sparklines and graphs of `dumbbell watch` are drawn from.

Memory is bounded by the connections that live at one time; a look is written, and any number of connections is read, by
a few operations on whole arrays.
"""

import numpy as np
import polars as pl

__all__ = ["HISTORY", "METRICS", "History"]

NS = 1_000_000_000
METRICS = ("send_bps", "recv_bps", "rtt_ns", "cwnd_packets", "inflight_packets", "retrans_delta")
HISTORY = 120
"""Looks that are kept of each connection: 4 bytes a look and metric, 58 MB for 20,000 connections."""


class History:
    """A ring of looks: a column a look, a row each connection that lives or lived a short while ago."""

    def __init__(self) -> None:
        self._cookies = np.zeros(0, np.int64)  # Sorted.
        self._slots = np.zeros(0, np.int64)
        self._free = np.zeros(0, np.int64)
        self._rings = {name: np.zeros((0, HISTORY), np.float32) for name in METRICS}
        self._times = np.full(HISTORY, np.nan)
        self._at = -1

    def add(self, now: pl.DataFrame, time_ns: int, gone: set[int]) -> None:
        """A look's column; rows of what is neither in it nor among `gone` are given to others."""
        cookies = now["cookie"].to_numpy()
        self._forget(np.isin(self._cookies, np.union1d(cookies, np.array(sorted(gone), np.int64))))
        self._welcome(np.setdiff1d(cookies, self._cookies))
        self._at = (self._at + 1) % HISTORY
        self._times[self._at] = time_ns / NS
        slots = self._slots[np.searchsorted(self._cookies, cookies)]
        for name, ring in self._rings.items():
            ring[:, self._at] = np.nan
            ring[slots, self._at] = now[name].cast(pl.Float32).to_numpy()

    def read(self, cookies: np.ndarray, metric: str, looks: int) -> np.ndarray:
        """As `Live.past` says."""
        found = np.full((len(cookies), looks), np.nan, np.float32)
        if len(self._cookies):
            places = np.minimum(np.searchsorted(self._cookies, cookies), len(self._cookies) - 1)
            known = self._cookies[places] == cookies
            found[known] = self._rings[metric][self._slots[places[known]]][:, self._order(looks)]
        return found

    def times_s(self, looks: int) -> np.ndarray:
        """As `Live.times_s` says."""
        times: np.ndarray = self._times[self._order(looks)] - self._times[self._at]
        return times

    def _order(self, looks: int) -> np.ndarray:
        return (self._at + 1 - looks + np.arange(looks)) % HISTORY

    def _forget(self, kept: np.ndarray) -> None:
        self._free = np.concatenate([self._free, self._slots[~kept]])
        self._cookies, self._slots = self._cookies[kept], self._slots[kept]

    def _welcome(self, new: np.ndarray) -> None:
        if not len(new):
            return
        if missing := max(len(new) - len(self._free), 0):
            size = len(self._cookies) + len(self._free)
            # Half as much again: growing copies everything.
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
