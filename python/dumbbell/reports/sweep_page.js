// A click on a cell or a button shows the runs of its point, with the commands that reproduce them.
const points = $points;
// The parent frame opens runs on request.
const framed = points.opens && parent !== window;
const dialog = document.getElementById("runs");
const make = (tag, text, parent) => {
  const made = parent.appendChild(document.createElement(tag));
  made.textContent = text;
  return made;
};
const shown = value => value === null ? "–" : typeof value === "number" ? Number(value.toPrecision(4)).toString() : value;
async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", text, dialog);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}
function command(text, seed, body) {
  const line = make("pre", text, body);
  const button = make("button", "Copy", body);
  button.type = "button";
  button.setAttribute("aria-label", "Copy the command of seed " + seed);
  button.addEventListener("click", () => copy(line.textContent, button));
}
function postButton(action, text, label, point, seed, row) {
  row.append(" ");
  const button = make("button", text, row);
  button.type = "button";
  button.setAttribute("aria-label", label + seed);
  button.addEventListener("click", () => parent.postMessage({ [action]: { point: Number(point), seed } }, "*"));
}
function show(number) {
  const point = points.points[number];
  if (!point) return;
  const body = dialog.querySelector("div");
  body.replaceChildren();
  make("h2", "Point " + number + (point.at ? ": " + point.at : ""), body);
  const table = make("table", "", make("div", "", body));
  table.parentNode.className = "scroll";
  const head = make("tr", "", make("thead", "", table));
  for (const name of ["seed", "status", ...points.values]) make("th", name, head);
  const rows = make("tbody", "", table);
  for (const run of point.runs) {
    const row = make("tr", "", rows);
    const seed = make("th", run.seed, row);
    if (framed) {
      postButton("open", "Open", "Open the experiment of seed ", number, run.seed, seed);
      if (run.kept) postButton("report", "Report", "Report of seed ", number, run.seed, seed);
    }
    const status = make("td", run.status, row);
    for (const [name, address] of run.kept ? [["page", run.kept.page], ["folder", run.kept.folder]] : []) {
      if (!address) continue;
      status.append(" ");
      make("a", name, status).href = address;
    }
    for (const value of run.values) make("td", shown(value), row);
    if (run.reason) make("p", "Seed " + run.seed + ": " + run.reason, body);
  }
  const pageless = framed ? [] : point.runs.filter(run => run.kept && !run.kept.page);
  if (pageless.length) make("p", "Write the page of a kept run (dumbbell report --runs writes and links all of them):", body);
  for (const run of pageless) command(run.kept.command, run.seed, body);
  make("p", point.command ? "Reproduce:" : "No command to reproduce it: the folder has no sweep.toml.", body);
  for (const run of point.command ? point.runs : []) command(point.command.replace("{seed}", run.seed), run.seed, body);
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}
dialog.querySelector(".close").addEventListener("click", () => dialog.close());
document.addEventListener("click", event => {
  const button = event.target.closest("button[data-point]");
  if (button) show(button.dataset.point);
});
document.addEventListener("drawn", event => {
  event.detail.addEventListener("click", (_, item) => {
    if (item?.datum?.point != null) show(item.datum.point);
  });
});
