// The controls of the path: rate, RTT, queue discipline, buffer, loss; and the duration of the experiment. The picture of
// the network has them as its labels.

import { useId } from "preact/hooks";
import { applyEdit } from "../live";
import { text as say } from "../messages/messages";
import { offered, shown } from "../state";
import type { Bottleneck, Controls } from "../types";
import { rateLabel, rateOf, rateText, short, timeLabel, timeOf, timeText } from "../units";
import { Term } from "../words/Term";
import { bdpBytes, bufferBdp, withLimit } from "./buffer";
import { Choice } from "./Choice";
import { Slider } from "./Slider";
import { BUFFER, DURATION, LOSS, lossOf, RATE, RTT, rttEdits } from "./stops";

export function Rate({ bottleneck }: { bottleneck: Bottleneck | null }) {
  return (
    <Slider
      label={say("control.rate")}
      term="rate"
      edits="path.bottleneck.rate"
      stops={RATE}
      value={bottleneck?.rate_bps ?? null}
      toText={rateText}
      fromText={rateOf}
      format={rateLabel}
    />
  );
}

/** The RTT; the part of it on the forward path stays the same. */
export function Rtt({ now }: { now: Controls }) {
  const { rtt_ns } = now;
  return (
    <Slider
      label={say("control.rtt")}
      term="rtt"
      edits="path.rtt"
      stops={RTT}
      value={rtt_ns}
      toText={timeText}
      fromText={timeOf}
      format={timeLabel}
      also={(value) => rttEdits(now, value).slice(1)}
    />
  );
}

export function Duration({ now }: { now: Controls }) {
  return (
    <Slider
      label={say("control.duration")}
      edits="duration"
      stops={DURATION}
      value={now.duration_ns}
      toText={timeText}
      fromText={timeOf}
      format={timeLabel}
    />
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
      <span class="name">
        <Term name="qdisc">{say("control.queue")}</Term>
      </span>
      <Choice
        id={id}
        label={say("control.queue")}
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
      label={say("control.buffer")}
      term="buffer"
      edits={QDISC}
      stops={BUFFER}
      hint={say("control.buffer.hint")}
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
      label={say("control.loss")}
      term="loss"
      edits="path.loss"
      stops={LOSS}
      value={isPercentage ? lossOf(loss) : null}
      fromText={lossOf}
      toText={(rate) => (rate === 0 ? null : `${short(rate * 100)}%`)}
      typed={(text) => (["none", say("control.none")].includes(text.trim()) ? 0 : percentage(numberBefore(text, /%/)))}
      format={(rate) => (rate === 0 ? say("control.none") : `${short(rate * 100)} %`)}
      hint={say("control.loss.hint")}
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

function sizeLabel(bytes: number): string {
  return bytes >= 1e6 ? `${short(bytes / 1e6)} MB` : `${short(bytes / 1e3)} kB`;
}
