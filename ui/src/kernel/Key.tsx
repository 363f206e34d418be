// The legend of the simulator's and the kernel's lines, which differ by their dashes, not only by colour.

import { overlay } from "./run";

/** The dashes of the kernel's lines. */
export const KERNEL_DASH = [2, 3];

export function KernelKey() {
  const drawn = overlay.value;
  if (!drawn) return null;
  const bands = drawn.panels.some((panel) => panel.layers.some((layer) => layer.kind === "bands"));
  const seedText = drawn.seeds > 1 ? `, seed ${drawn.seed} of the ${drawn.seeds}` : "";
  return (
    <span class="key">
      <Stroke dash={[]} /> sim <Stroke dash={KERNEL_DASH} /> {`kernel${seedText} `}
      {bands && <span class="quiet">(states: sim above, kernel below)</span>}
    </span>
  );
}

function Stroke({ dash }: { dash: number[] }) {
  return (
    <svg width="26" height="8" aria-hidden="true">
      <line x1="0" x2="26" y1="4" y2="4" stroke="currentColor" stroke-width="2" stroke-dasharray={dash.join(" ")} />
    </svg>
  );
}
