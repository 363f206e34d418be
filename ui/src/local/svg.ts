// The shown figure as SVG and PNG, without a server.

import type { FigureData, Layer, Panel } from "../types";

const [WIDTH, LEFT, RIGHT, TITLE, AXIS, GAP] = [900, 70, 14, 22, 36, 14];
const FONT = 'font-family="system-ui, sans-serif" font-size="12"';
const INK = "#333333";
const GRID = "#E8E8E8";
const ALARM = "#B00020";

interface Scale {
  x(seconds: number): number;
  y(value: number): number;
}

/** All panels on one time axis, on white. */
export function svgOf(of: FigureData, title: string): string {
  let top = of.valid ? 30 : 48;
  const parts = of.panels.map((panel) => {
    const part = panelSvg(panel, of, top);
    top += TITLE + panel.height + GAP;
    return part;
  });
  const height = top + AXIS + legendHeight(of);
  const axis = ticksOf(0, of.duration_s, 8).map(
    (time) => `<text x="${at(timeScale(of)(time))}" y="${top + 4}" text-anchor="middle" fill="${INK}">${time}</text>`,
  );
  const label = `<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${top + 20}" text-anchor="middle" fill="${INK}">Time, s</text>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" ${FONT}>`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    `<text x="${LEFT}" y="20" font-size="15" font-weight="600" fill="${INK}">${escaped(title)}</text>`,
    ...(of.valid ? [] : [invalidLine(of)]),
    ...parts,
    ...axis,
    label,
    legend(of, top + AXIS),
    "</svg>",
  ].join("\n");
}

function invalidLine({ invalid }: FigureData): string {
  return `<text x="${LEFT}" y="38" font-weight="600" fill="${ALARM}">INVALID: ${escaped(invalid.join("; "))}</text>`;
}

/** The same as PNG, at twice the resolution. */
export async function pngOf(svg: string): Promise<Blob> {
  const image = new Image();
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    image.src = address;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width * 2, image.height * 2);
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await canvas.convertToBlob({ type: "image/png" });
  } finally {
    URL.revokeObjectURL(address);
  }
}

function timeScale({ duration_s }: FigureData): (seconds: number) => number {
  return (seconds) => LEFT + (seconds / duration_s) * (WIDTH - LEFT - RIGHT);
}

function panelSvg(panel: Panel, of: FigureData, top: number): string {
  const [from, to] = [top + TITLE, top + TITLE + panel.height];
  const most = panel.rows.length || (panel.y.domain?.[1] ?? largest(panel, of) * 1.06) || 1;
  const least = panel.rows.length ? 0 : (panel.y.domain?.[0] ?? 0);
  const up = (value: number) => to - ((value - least) / (most - least)) * panel.height;
  const scale: Scale = { x: timeScale(of), y: panel.rows.length ? (row) => from + row * (panel.height / most) : up };
  const note = panel.note && `<tspan fill="#6A6A74"> (${escaped(panel.note)})</tspan>`;
  return [
    `<text x="${LEFT}" y="${from - 6}" fill="${INK}">${escaped(panel.title)}${note}</text>`,
    ...(panel.rows.length ? rowNames(panel, scale) : valueAxis(least, most, scale)),
    ...panel.layers.map((layer) => layerSvg(layer, panel, of, scale, from)),
    `<rect x="${LEFT}" y="${from}" width="${WIDTH - LEFT - RIGHT}" height="${panel.height}" fill="none" stroke="${GRID}"/>`,
  ].join("\n");
}

function largest(panel: Panel, of: FigureData): number {
  const lines = panel.layers.flatMap((layer) => (layer.kind === "lines" ? layer.lines : []));
  return lines.reduce((most, { v }) => of.column(v).reduce((top, value) => Math.max(top, value), most), 0);
}

function valueAxis(least: number, most: number, { y }: Scale): string[] {
  return ticksOf(least, most, 5).flatMap((value) => [
    `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at(y(value))}" y2="${at(y(value))}" stroke="${GRID}"/>`,
    `<text x="${LEFT - 6}" y="${at(y(value) + 4)}" text-anchor="end" fill="${INK}">${value}</text>`,
  ]);
}

function rowNames({ rows }: Panel, { y }: Scale): string[] {
  return rows.map(
    (name, row) =>
      `<text x="${LEFT - 6}" y="${at(y(row + 0.5) + 4)}" text-anchor="end" fill="${INK}">${escaped(name.slice(0, 10))}</text>`,
  );
}

function layerSvg(layer: Layer, panel: Panel, of: FigureData, { x, y }: Scale, top: number): string {
  const dashed = (dash: number[]) => (dash.length > 1 && dash[1] ? ` stroke-dasharray="${dash.join(" ")}"` : "");
  if (layer.kind === "rule")
    return `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at(y(layer.v))}" y2="${at(y(layer.v))}" stroke="${layer.colour}"${dashed(layer.dash)}/>`;
  if (layer.kind === "ticks") {
    const height = top + (layer.top ?? 4);
    const marks = Array.from(of.column(layer.s), (time) => `M${at(x(time))} ${height}v7`);
    return `<path d="${marks.join("")}" stroke="${layer.colour}"/>`;
  }
  if (layer.kind === "bands") {
    const [starts, ends, row] = [of.column(layer.s), of.column(layer.e), panel.rows.indexOf(layer.row)];
    const [from, to] = [y(row + 0.12), y(row + 0.88)];
    const boxes = Array.from(starts, (start, index) => {
      const right = x(ends[index] as number);
      return `M${at(x(start))} ${at(from)}H${at(right)}V${at(to)}H${at(x(start))}z`;
    });
    return `<path d="${boxes.join("")}" fill="${layer.colour}"/>`;
  }
  if (layer.kind === "points") return "";
  return layer.lines
    .map((line) => {
      const points = pathOf(of.column(line.s), of.column(line.v), layer.curve, { x, y });
      return `<path d="${points}" fill="none" stroke="${line.colour}" stroke-width="${layer.width}" opacity="${layer.opacity}"${dashed(line.dash)}/>`;
    })
    .join("\n");
}

function pathOf(s: Float64Array, v: Float64Array, curve: string, { x, y }: Scale): string {
  const half = curve === "step" && s.length > 1 ? ((s[1] as number) - (s[0] as number)) / 2 : 0;
  let path = "";
  for (let i = 0; i < s.length; i++) {
    const [left, up] = [at(x((s[i] as number) - half)), at(y(v[i] as number))];
    path += i === 0 ? `M${left} ${up}` : curve === "linear" ? `L${left} ${up}` : `H${left}V${up}`;
  }
  return path;
}

function entriesOf(of: FigureData): { name: string; colour: string }[] {
  const entries = new Map<string, string>();
  for (const panel of of.panels) {
    for (const layer of panel.layers)
      if (layer.kind === "lines" && layer.of === "flows")
        for (const line of layer.lines) entries.set(line.name, line.colour);
    for (const { name, colour } of panel.entries) entries.set(name, colour);
  }
  return [...entries].map(([name, colour]) => ({ name, colour }));
}

const PER_ROW = 6;

function legendHeight(of: FigureData): number {
  return Math.ceil(entriesOf(of).length / PER_ROW) * 18 + 10;
}

function legend(of: FigureData, top: number): string {
  const width = (WIDTH - LEFT - RIGHT) / PER_ROW;
  return entriesOf(of)
    .map(({ name, colour }, index) => {
      const [left, up] = [LEFT + (index % PER_ROW) * width, top + Math.floor(index / PER_ROW) * 18];
      return `<rect x="${at(left)}" y="${up}" width="12" height="12" fill="${colour}"/><text x="${at(left + 17)}" y="${up + 10}" fill="${INK}">${escaped(name)}</text>`;
    })
    .join("\n");
}

/** Round numbers of a range, at most about `count` of them. */
function ticksOf(least: number, most: number, count: number): number[] {
  const rough = (most - least) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
  const first = Math.ceil(least / step);
  const length = Math.floor(most / step) - first + 1;
  return Array.from({ length }, (_, index) => Number(((first + index) * step).toPrecision(6)));
}

function at(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
