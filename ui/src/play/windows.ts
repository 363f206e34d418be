// Windows of packets: keeps those fetched and fetches the next. One request is active at a time.

import { PacketIndex } from "./index";
import { type Packets, packets, type WindowRequest } from "./packets";

/** The run of the windows. */
export interface Source {
  toml: string;
  seed: number;
  duration_s: number;
  /** The approximate number of packets per second; determines the length of a window. */
  packets_per_s: number;
}

export type FetchWindow = (body: WindowRequest) => Promise<Packets | string>;

const ROWS_TARGET = 25_000;
const LENGTHS_S = [2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];
const KEPT = 6;

export class Windows {
  private length_s: number;
  private kept: PacketIndex[] = [];
  private active = false;
  private closed = false;
  private requested: { time: number; ahead: boolean } | null = null;

  constructor(
    private readonly source: Source,
    /** Called after each request with its error, or null for a window. */
    private readonly onLoad: (error: string | null) => void,
    private readonly fetchWindow: FetchWindow = packets,
  ) {
    this.length_s = LENGTHS_S.find((length) => length * source.packets_per_s <= ROWS_TARGET) ?? 0.001;
  }

  /** The window that contains all packets of a time. */
  get(time: number): PacketIndex | null {
    const last = this.source.duration_s;
    const holds = ({ packets: { from_s, to_s, complete_s } }: PacketIndex) =>
      from_s <= time && (time < complete_s || (complete_s === to_s && to_s >= last && time <= to_s));
    return this.kept.find(holds) ?? null;
  }

  /** Fetch a time's window, and with `ahead` the following one. */
  request(time: number, ahead: boolean): void {
    this.requested = { time, ahead };
    if (!this.active && !this.closed) void this.work();
  }

  /** Send no more requests, and ignore the active one. */
  close(): void {
    this.closed = true;
    this.kept = [];
  }

  private async work(): Promise<void> {
    this.active = true;
    for (let from = this.next(); from !== null && !this.closed; from = this.next()) {
      const error = await this.fetchFrom(from).catch((thrown: Error) => thrown.message);
      if (this.closed) break;
      this.onLoad(error);
      if (error !== null) break;
    }
    this.active = false;
  }

  /** The start of the next window to fetch; null if none is missing. */
  private next(): number | null {
    if (!this.requested) return null;
    const { time, ahead } = this.requested;
    const window = this.get(time);
    if (!window) return this.begin(time);
    const end_s = window.packets.complete_s;
    const needed = ahead && end_s < this.source.duration_s && !this.get(end_s);
    return needed ? end_s : null;
  }

  /** Windows begin at multiples of their length, or where a shorter complete window ends. */
  private begin(time: number): number {
    const begin = Math.floor(time / this.length_s + 1e-9) * this.length_s;
    const ends = this.kept.map(({ packets }) => packets.complete_s).filter((end) => end > begin && end <= time);
    return Math.max(begin, ...ends);
  }

  private async fetchFrom(from_s: number): Promise<string | null> {
    const { toml, seed, duration_s } = this.source;
    const to_s = Math.min((Math.floor(from_s / this.length_s + 1e-9) + 1) * this.length_s, duration_s);
    const response = await this.fetchWindow({ toml, seed, from_s, to_s });
    if (typeof response === "string") return response;
    if (response.left_out > 0) {
      const shorter = this.length_s / 2;
      if (shorter < (LENGTHS_S.at(-1) as number)) return "too many packets at once to show them";
      this.length_s = shorter;
    }
    if (response.complete_s > response.from_s) this.kept = [new PacketIndex(response), ...this.kept].slice(0, KEPT);
    return null;
  }
}
