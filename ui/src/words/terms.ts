// Terms that the page explains: their rows in `docs/glossary.md`. `messages` has the glossary's line in each language,
// with the key `term.ID`; a test compares the English ones with the glossary.

export const TERMS: Record<string, string> = {
  ack: "ACK",
  aqm: "AQM",
  backlog: "backlog",
  bdp: "bandwidth-delay product (BDP)",
  bottleneck: "bottleneck",
  buffer: "buffer",
  ce: "CE mark",
  codel: "CoDel, fq_codel",
  controller: "congestion control, controller",
  cwnd: "cwnd",
  delivery_rate: "delivery rate",
  drop_tail: "drop-tail",
  ecn: "ECN",
  flow: "flow",
  goodput: "goodput",
  inflight: "inflight",
  jain: "Jain's index",
  loss: "random loss",
  p95: "p95",
  pacing: "pacing",
  pfifo: "pfifo, bfifo",
  probe: "ProbeBW, ProbeRTT",
  qdisc: "qdisc, queue discipline",
  rate: "link",
  retransmission: "retransmit",
  rtt: "RTT, srtt, rttvar",
  seed: "random seed, random stream",
  share: "share",
  slow_start: "slow start, ssthresh",
  sojourn: "sojourn time",
  startup: "Startup, Drain",
  utilization: "utilization",
};

/** The words of a text that are a term, by language; the longest of those that begin at the same place counts. */
const WORDS: Record<string, Record<string, string[]>> = {
  en: {
    ack: ["ACK", "ACKs"],
    aqm: ["AQM"],
    bdp: ["bandwidth-delay product", "bandwidth-delay products", "BDP"],
    bottleneck: ["bottleneck"],
    buffer: ["buffer"],
    codel: ["CoDel", "fq_codel"],
    cwnd: ["cwnd", "window"],
    delivery_rate: ["delivery rate"],
    drop_tail: ["drop-tail"],
    ecn: ["ECN"],
    inflight: ["in flight"],
    loss: ["random loss"],
    p95: ["95th percentile"],
    pacing: ["paces", "pacing rate", "pacing gain"],
    pfifo: ["pfifo", "bfifo"],
    probe: ["ProbeRTT", "PROBE_RTT", "PROBE_BW"],
    qdisc: ["queue discipline"],
    retransmission: ["retransmits", "retransmissions"],
    rtt: ["round-trip time", "RTT"],
    slow_start: ["slow start"],
    sojourn: ["queueing delay"],
    startup: ["STARTUP", "DRAIN"],
    utilization: ["utilization", "Utilization"],
  },
  "zh-Hans": {
    ack: ["ACK"],
    aqm: ["AQM"],
    bdp: ["带宽时延积", "BDP"],
    bottleneck: ["瓶颈"],
    buffer: ["缓冲区"],
    codel: ["CoDel", "fq_codel"],
    cwnd: ["拥塞窗口", "cwnd", "窗口"],
    delivery_rate: ["交付速率"],
    drop_tail: ["尾丢弃"],
    ecn: ["ECN"],
    inflight: ["在途数据"],
    loss: ["随机丢包"],
    p95: ["第 95 百分位"],
    pacing: ["pacing"],
    pfifo: ["pfifo", "bfifo"],
    probe: ["ProbeRTT", "PROBE_RTT", "PROBE_BW"],
    qdisc: ["队列规则"],
    retransmission: ["重传"],
    rtt: ["往返时延", "RTT"],
    slow_start: ["慢启动"],
    sojourn: ["排队时延"],
    startup: ["STARTUP", "DRAIN"],
    utilization: ["利用率"],
  },
};

/** A part of a text: plain, or a term. */
export interface Part {
  text: string;
  term: string | null;
}

/** The parts of a text in a language; each term is one only where it comes first. */
export function partsOf(text: string, language: string): Part[] {
  const terms = new Map(
    Object.entries(WORDS[language] ?? {}).flatMap(([id, words]) => words.map((word) => [word, id])),
  );
  const words = [...terms.keys()].sort((one, other) => other.length - one.length);
  if (!words.length) return [{ text, term: null }];
  // Latin words end at a letter; Chinese ones have no such mark.
  const pattern = new RegExp(
    words.map((word) => (/^[\w-]/.test(word) ? `(?<![\\w-])${word}(?![\\w-])` : word)).join("|"),
    "g",
  );
  const seen = new Set<string>();
  const parts: Part[] = [];
  let from = 0;
  for (const { 0: word, index } of text.matchAll(pattern)) {
    const term = terms.get(word) as string;
    if (seen.has(term)) continue;
    seen.add(term);
    parts.push({ text: text.slice(from, index), term: null }, { text: word, term });
    from = index + word.length;
  }
  return [...parts, { text: text.slice(from), term: null }].filter((part) => part.text);
}
