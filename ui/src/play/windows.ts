// Windows of packets: those that were fetched, and which is to be fetched next. One request is under way at a time.

import { Indexed } from "./index";
import { type Packets, packets, type WindowRequest } from "./packets";

/** What the windows are of. */
export interface Source {
  toml: string;
  seed: number;
  duration_s: number;
  /** About how many packets a second pass; decides how long a window is. */
  packets_per_s: number;
}

export type FetchWindow = (asked: WindowRequest) => Promise<Packets | string>;

const ROWS_WANTED = 25_000;
const LENGTHS_S = [2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];
const KEPT = 6;

export class Windows {
  private length_s: number;
  private kept: Indexed[] = [];
  private under = false;
  private closed = false;
  private wanted: { time: number; ahead: boolean } | null = null;

  constructor(
    private readonly source: Source,
    /** Something came: a window (null), or what is wrong. */
    private readonly came: (wrong: string | null) => void,
    private readonly fetchWindow: FetchWindow = packets,
  ) {
    this.length_s = LENGTHS_S.find((length) => length * source.packets_per_s <= ROWS_WANTED) ?? 0.001;
  }

  /** The window that knows all packets of a time. */
  get(time: number): Indexed | null {
    const last = this.source.duration_s;
    const holds = ({ packets: { from_s, to_s, complete_s } }: Indexed) =>
      from_s <= time && (time < complete_s || (complete_s === to_s && to_s >= last && time <= to_s));
    return this.kept.find(holds) ?? null;
  }

  /** See to it that a time's window comes, and with `ahead` the one behind it. */
  want(time: number, ahead: boolean): void {
    this.wanted = { time, ahead };
    if (!this.under && !this.closed) void this.work();
  }

  /** Nothing more is asked, and what still comes is not told of. */
  close(): void {
    this.closed = true;
    this.kept = [];
  }

  private async work(): Promise<void> {
    this.under = true;
    for (let from = this.next(); from !== null && !this.closed; from = this.next()) {
      const wrong = await this.once(from).catch((error: Error) => error.message);
      if (this.closed) break;
      this.came(wrong);
      if (wrong !== null) break;
    }
    this.under = false;
  }

  /** Where the window begins that is wanted and not there. */
  private next(): number | null {
    if (!this.wanted) return null;
    const { time, ahead } = this.wanted;
    const here = this.get(time);
    if (!here) return this.begin(time);
    const behind = here.packets.complete_s;
    const needed = ahead && behind < this.source.duration_s && !this.get(behind);
    return needed ? behind : null;
  }

  /** Windows begin at multiples of their length, or where one ends that knows all packets up to there. */
  private begin(time: number): number {
    const begin = Math.floor(time / this.length_s + 1e-9) * this.length_s;
    const ends = this.kept.map((one) => one.packets.complete_s).filter((end) => end > begin && end <= time);
    return Math.max(begin, ...ends);
  }

  private async once(from_s: number): Promise<string | null> {
    const { toml, seed, duration_s } = this.source;
    const to_s = Math.min((Math.floor(from_s / this.length_s + 1e-9) + 1) * this.length_s, duration_s);
    const got = await this.fetchWindow({ toml, seed, from_s, to_s });
    if (typeof got === "string") return got;
    if (got.left_out > 0) {
      const shorter = this.length_s / 2;
      if (shorter < (LENGTHS_S.at(-1) as number)) return "too many packets at once to show them";
      this.length_s = shorter;
    }
    if (got.complete_s > got.from_s) this.kept = [new Indexed(got), ...this.kept].slice(0, KEPT);
    return null;
  }
}
