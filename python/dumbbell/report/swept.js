// A click on a cell, or a button, shows the runs of its point, with the commands that run them again.
const points = $points;
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
    make("th", run.seed, row);
    const status = make("td", run.status, row);
    if (run.link) {
      status.append(" ");
      make("a", "report", status).href = run.link;
    }
    for (const value of run.values) make("td", shown(value), row);
    if (run.reason) make("p", "Seed " + run.seed + ": " + run.reason, body);
  }
  make("p", point.command ? "Run it again, in full:" : "How to run it again is not known: sweep.toml is not in the folder.", body);
  for (const run of point.command ? point.runs : []) {
    const line = make("pre", point.command.replace("{seed}", run.seed), body);
    const button = make("button", "Copy", body);
    button.type = "button";
    button.setAttribute("aria-label", "Copy the command of seed " + run.seed);
    button.addEventListener("click", () => copy(line.textContent, button));
  }
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
