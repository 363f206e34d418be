// What the pointer is at in the picture of the network; the figures show the same.

import { signal } from "@preact/signals";

export interface Place {
  /** A flow, or a group if there are many flows. */
  flow: string | null;
  queue: boolean;
}

export const place = signal<Place | null>(null);
