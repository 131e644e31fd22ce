// The list of clusters, and what can be done with those that are picked.
function pick(clusters, event) {
  const which = clusters.map((c) => now.home[c]);
  const add = event && (event.shiftKey || event.ctrlKey || event.metaKey);
  const again = which.length === focus.size && which.every((c) => focus.has(c));
  if (add) which.forEach((c) => (focus.has(c) ? focus.delete(c) : focus.add(c)));
  else focus = new Set(again ? [] : which);
  rowsShown = STEP;
  look();
}

function drawList() {
  const largest = Math.max(...now.sizes);
  all("[data-row]").forEach((row) => {
    const c = Number(row.dataset.row);
    row.hidden = now.home[c] !== c;
    row.classList.toggle("aside", focus.size > 0 && !focus.has(c));
    row.querySelector(".pick").setAttribute("aria-pressed", focus.has(c));
    row.querySelector("rect").setAttribute("width", (100 * now.sizes[c]) / largest);
  });
  all("[data-size]").forEach((part) => (part.textContent = counted(now.sizes[part.dataset.size])));
  all("[data-share]").forEach((part) => {
    const share = now.sizes[part.dataset.share] / data.n;
    part.textContent = share < 0.9995 ? `${(100 * share).toFixed(1)} %` : "100 %";
  });
}

function drawNames() {
  all("[data-name]").forEach((part) => {
    part.textContent = part.title = whoIs(Number(part.dataset.name));
  });
  all("[data-title]").forEach((part) => (part.textContent = titleOf(Number(part.dataset.title))));
  all("[data-flag]").forEach((part) => {
    const doubtful = now.doubtful.has(Number(part.dataset.flag));
    part.replaceChildren(...(doubtful ? ["?", element("span", " doubtful", "unseen")] : []));
    part.title = doubtful ? "marked as doubtful" : "";
  });
  all("[data-state]").forEach((part) => {
    const c = Number(part.dataset.state);
    const joined = now.home.flatMap((home, old) => (home === c && old !== c ? [old] : []));
    const words = [];
    if (now.names.has(c)) words.push(`cluster ${c}`);
    if (now.home[c] !== c) words.push(`merged into ${whoIs(now.home[c])}`);
    if (joined.length) words.push(`with ${joined.join(", ")}: ${plural(now.sizes[c], "sample")}`);
    if (now.doubtful.has(c)) words.push("doubtful");
    part.textContent = words.join(" · ");
  });
  all("[data-mark]").forEach((mark) => dress(mark, now.home[Number(mark.dataset.mark)]));
  all("[data-colour]").forEach((part) => {
    for (let i = 0; i < colours; i++) part.classList.remove(`c${i}`);
    part.classList.add(colourOf(now.home[Number(part.dataset.colour)]));
  });
}

// Strengths of clusters that were merged are medians of all their members.
function drawStrengths() {
  const merged = new Map();
  now.home.forEach((home, old) => home !== old && merged.set(home, []));
  for (let i = 0; i < sampleCount; i++) merged.get(homeOf(i))?.push(strengthOf[i]);
  all("[data-strength]").forEach((part) => {
    const kept = (part.dataset.fitted ??= part.textContent);
    const own = merged.get(Number(part.dataset.strength))?.sort((a, b) => a - b);
    const half = own && (own[(own.length - 1) >> 1] + own[own.length >> 1]) / 2;
    part.textContent = own ? (half / 10000).toFixed(2) : kept;
    const bar = part.parentNode.querySelector("svg");
    bar.setAttribute("aria-label", `membership strength ${part.textContent}`);
    bar.querySelector(".fill").setAttribute("width", 40 * Number(part.textContent));
  });
}

function drawInspector() {
  const which = [...focus].sort((a, b) => a - b);
  const [first] = which;
  const single = which.length === 1;
  byId("edit").hidden = which.length === 0;
  const size = which.reduce((sum, c) => sum + now.sizes[c], 0);
  const of = single ? titleOf(first) : `Clusters ${which.join(", ")}`;
  byId("picked").textContent = which.length
    ? `${of}: ${plural(size, "sample")}.`
    : "Pick a cluster to see it alone, rename it, merge it or mark it.";
  if (!which.length) return;
  byId("rename").hidden = byId("doubt").hidden = byId("to-card").hidden = !single;
  const others = now.living.filter((c) => !focus.has(c));
  const options = others.map((c) => new Option(whoIs(c), c));
  byId("merge-with").replaceChildren(...options);
  const [label, list, button] = byId("merge").children;
  label.hidden = list.hidden = !single;
  byId("merge").hidden = single && !others.length;
  button.textContent = single ? "Merge" : `Merge these ${which.length} clusters`;
  if (!single) return;
  byId("new-name").value = now.names.get(first) ?? "";
  byId("doubt").setAttribute("aria-pressed", now.doubtful.has(first));
  byId("to-card").href = `#cluster-${first}`;
}

const numbersIn = (text) => text.split(" ").map(Number);

all("[data-pick]").forEach((button) =>
  button.addEventListener("click", (event) => pick([Number(button.dataset.pick)], event)),
);
all("[data-focus]").forEach((button) =>
  button.addEventListener("click", () => {
    focus = new Set(); // so that asking twice shows it twice
    pick(numbersIn(button.dataset.focus));
    plot.parentNode.scrollIntoView({ block: "center" });
  }),
);
all("[data-merge]").forEach((button) =>
  button.addEventListener("click", () => merge(numbersIn(button.dataset.merge))),
);
const renameNow = () => rename([...focus][0], byId("new-name").value);
byId("rename").querySelector("button").addEventListener("click", renameNow);
byId("new-name").addEventListener("keydown", (event) => event.key === "Enter" && renameNow());
byId("merge").querySelector("button").addEventListener("click", () => {
  merge(focus.size > 1 ? [...focus] : [...focus, Number(byId("merge-with").value)]);
});
byId("doubt").addEventListener("click", () => doubt([...focus][0]));
byId("all").addEventListener("click", () => pick([]));
byId("undo").addEventListener("click", undo);
byId("redo").addEventListener("click", redo);
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea");
  if (typing || !(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
  event.preventDefault();
  (event.shiftKey ? redo : undo)();
});
