// The colours of figures, by the page's theme.

import { dark, hidden } from "../state";
import type { Palette } from "./build";

export function palette(): Palette {
  return {
    dark: dark.value,
    text: dark.value ? "#c9c9d2" : "#44444c",
    grid: dark.value ? "#33333a" : "#e8e8e8",
    hidden: hidden.value,
  };
}
