// Formats quantities in tc's units and for the user.

export function rateText(bps: number): string {
  const units: [number, string][] = [
    [1e9, "gbit"],
    [1e6, "mbit"],
    [1e3, "kbit"],
  ];
  const [size, unit] = units.find(([minimum]) => bps >= minimum) ?? [1, "bit"];
  return `${short(bps / size)}${unit}`;
}

export function timeText(ns: number): string {
  const units: [number, string][] = [
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "us"],
  ];
  const [size, unit] = units.find(([minimum]) => ns >= minimum) ?? [1, "ns"];
  return ns === 0 ? "0s" : `${short(ns / size)}${unit}`;
}

/** A rate of tc's in bits per second; null for anything else. */
export function rateOf(text: unknown): number | null {
  const found = /^([\d.]+)\s*([kmg]?)bit$/.exec(String(text));
  return found ? Number(found[1]) * ({ k: 1e3, m: 1e6, g: 1e9 }[found[2] as "k"] ?? 1) : null;
}

/** A time of tc's in nanoseconds; null for anything else. */
export function timeOf(text: unknown): number | null {
  const found = /^([\d.]+)\s*(s|ms|us|ns)$/.exec(String(text));
  return found ? Number(found[1]) * ({ s: 1e9, ms: 1e6, us: 1e3 }[found[2] as "s"] ?? 1) : null;
}

/** As tc writes it, with a space and a capital: 50 Mbit/s. */
export function rateLabel(bps: number): string {
  return rateText(bps).replace(/([kmg]?)bit/, (_, prefix) => ` ${prefix === "k" ? "k" : prefix.toUpperCase()}bit/s`);
}

export function timeLabel(ns: number): string {
  return timeText(ns)
    .replace(/([a-z]+)$/, " $1")
    .replace(" us", " µs");
}

/** At most four significant digits, without trailing zeros. */
export function short(value: number): string {
  return String(Number(value.toPrecision(4)));
}

/** Two significant digits, more for an integer below a thousand. */
export function twoDigits(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const isWhole = Math.abs(value) >= 10 && Math.abs(value) < 1000;
  const rounded = isWhole ? Math.round(value) : Number(value.toPrecision(2));
  return new Intl.NumberFormat("en", { maximumFractionDigits: 9, useGrouping: false }).format(rounded);
}
