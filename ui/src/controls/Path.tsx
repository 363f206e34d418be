// The controls of the path: rate, RTT, queue discipline, buffer, loss; and the duration of the experiment.

import { useId } from "preact/hooks";
import { applyEdit } from "../live";
import { controls, offered, shown } from "../state";
import type { Bottleneck, Controls, Value } from "../types";
import { rateLabel, rateOf, rateText, short, timeLabel, timeOf, timeText } from "../units";
import { bdpBytes, bufferBdp, withLimit } from "./buffer";
import { Choice } from "./Choice";
import { notches } from "./notches";
import { Slider } from "./Slider";

const RATE = notches(1e5, 1e10);
const RTT = notches(1e5, 1e9);
const BUFFER = notches(0.05, 50);
const DURATION = notches(1e9, 300e9);
/** The first stop is no loss. */
const LOSS = [0, ...notches(0.0001, 0.2)];

export function PathControls() {
  const now = controls.value;
  if (!now) return null;
  return (
    <fieldset>
      <legend>Path</legend>
      <Slider
        label="Rate"
        edits="path.bottleneck.rate"
        stops={RATE}
        value={now.bottleneck?.rate_bps ?? null}
        toText={rateText}
        fromText={rateOf}
        format={rateLabel}
      />
      <Slider
        label="RTT"
        edits="path.rtt"
        stops={RTT}
        value={now.rtt_ns}
        toText={timeText}
        fromText={timeOf}
        format={timeLabel}
      />
      {now.bottleneck && (
        <>
          <Queue now={now} bottleneck={now.bottleneck} />
          <Buffer now={now} bottleneck={now.bottleneck} />
        </>
      )}
      <Loss loss={now.loss} />
      <Slider
        label="Duration"
        edits="duration"
        stops={DURATION}
        value={now.duration_ns}
        toText={timeText}
        fromText={timeOf}
        format={timeLabel}
      />
    </fieldset>
  );
}

const QDISC = "path.bottleneck.qdisc";

interface QueueProps {
  now: Controls;
  bottleneck: Bottleneck;
}

/** The discipline of the queue; `choices`: only these are offered. */
export function Queue({ bottleneck, choices }: QueueProps & { choices?: string[] }) {
  const id = useId();
  const text = shown(QDISC, bottleneck.qdisc);
  const kinds = choices ?? Object.keys(offered.value?.disciplines ?? {});
  const kind = text.split(" ")[0] ?? "";
  return (
    <div class="control">
      <label for={id}>Queue</label>
      <Choice
        id={id}
        value={kind}
        known={kinds}
        onSelect={(name) => applyEdit({ key: QDISC, value: template(name, text) })}
      />
      <output title={text}>{text}</output>
    </div>
  );
}

export function Buffer({ now, bottleneck }: QueueProps) {
  const bdp = bdpBytes(now);
  const text = shown(QDISC, bottleneck.qdisc);
  return (
    <Slider
      label="Buffer"
      edits={QDISC}
      stops={BUFFER}
      hint="in bandwidth-delay products of rate × RTT"
      value={bufferBdp(text, bdp, now.mtu_bytes)}
      toText={(value) => withLimit(shown(QDISC, bottleneck.qdisc), `${short(value)}bdp`)}
      fromText={(text) => bufferBdp(String(text), bdp, now.mtu_bytes)}
      typed={(text) => numberBefore(text, /bdp/i)}
      inBox={(value) => `${short(value)} BDP`}
      format={(value) => `${short(value)} BDP${bdp ? ` = ${sizeLabel(value * bdp)}` : ""}`}
    />
  );
}

function template(kind: string, before: string): string {
  const limit = /\blimit (\S+)/.exec(before)?.[1] ?? "1bdp";
  return (offered.value?.disciplines[kind] ?? kind).replace("{limit}", limit);
}

export function Loss({ loss }: { loss: string | null }) {
  const isPercentage = loss === null || /^[\d.]+%$/.test(loss);
  return (
    <Slider
      label="Loss"
      edits="path.loss"
      stops={LOSS}
      value={isPercentage ? lossOf(loss) : null}
      fromText={lossOf}
      toText={(rate) => (rate === 0 ? null : `${short(rate * 100)}%`)}
      typed={(text) => (text.trim() === "none" ? 0 : percentage(numberBefore(text, /%/)))}
      format={(rate) => (rate === 0 ? "none" : `${short(rate * 100)} %`)}
      hint="random, on the forward path, before the queue"
    />
  );
}

/** The number of a text like `1.5 BDP`; the unit may be left out. */
export function numberBefore(text: string, unit: RegExp): number | null {
  const number = text.replace(unit, "").trim();
  return /^\d*\.?\d+$/.test(number) ? Number(number) : null;
}

function percentage(number: number | null): number | null {
  return number === null ? null : number / 100;
}

function lossOf(text: Value): number | null {
  if (text === null) return 0;
  const found = /^([\d.]+)%$/.exec(String(text));
  return found ? Number(found[1]) / 100 : null;
}

function sizeLabel(bytes: number): string {
  return bytes >= 1e6 ? `${short(bytes / 1e6)} MB` : `${short(bytes / 1e3)} kB`;
}
