// The values of the page's controls. A control that does not apply to an experiment is null: a path of tc commands has no
// rate, a discipline without a limit no buffer.

import type { Case, Controls, Group } from "../types";

interface Flows extends Omit<Group, "start_ns" | "stop_ns" | "rate_bps"> {
  start: number;
  stop: number | null;
  rate: number | null;
}

interface Experiment {
  title: string;
  duration: number;
  path: {
    rtt: number;
    forward_delay: number;
    mtu: number;
    loss: string | null;
    bottleneck: { rate: number | null; rate_trace: string | null; qdisc: string } | null;
  };
  flows: Flows[];
}

/** The values of the controls. */
export function controlsOf({ experiment, groups }: Case): Controls {
  const { title, duration, path, flows } = experiment as unknown as Experiment;
  const { bottleneck } = path;
  return {
    title,
    duration_ns: duration,
    rtt_ns: path.rtt,
    delay_ns: path.forward_delay,
    mtu_bytes: path.mtu,
    loss: path.loss,
    bottleneck: bottleneck && {
      rate_bps: bottleneck.rate,
      traced: bottleneck.rate_trace !== null,
      qdisc: bottleneck.qdisc,
      kind: bottleneck.qdisc.split(" ")[0] as string,
      limit: optionOf(bottleneck.qdisc, "limit"),
    },
    flows: flows.map(({ kind, cc, cc_parameters, count, start, stop, bytes, rate }, index) => ({
      ...{ name: groups[index] ?? kind, kind, cc, cc_parameters, count, bytes },
      ...{ start_ns: start, stop_ns: stop, rate_bps: rate },
    })),
  };
}

/** An option's value in a discipline's text, in which single spaces stand between words. */
function optionOf(qdisc: string, name: string): string | null {
  const words = qdisc.split(" ");
  const at = words.indexOf(name);
  return at < 0 ? null : (words[at + 1] ?? null);
}
