import { defineConfig } from "vite";

// The page is built into the Python package. In development, requests go to `dumbbell ui --port 8080`.
export default defineConfig({
  base: "./",
  build: {
    outDir: "../python/dumbbell/web/page",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  server: { proxy: { "/api": "http://127.0.0.1:8080" } },
});
