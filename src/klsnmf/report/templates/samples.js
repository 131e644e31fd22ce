// The selection: the samples that match what is searched for and are in the picked clusters.
const STEP = 10; // rows of the table at first
const MORE = 100;
const search = byId("search");
const scope = byId("scope");
const selection = new Uint8Array(sampleCount).fill(1);
let selected = sampleCount;
let focus = new Set();
let lowered = null; // names in small letters, made when they are first searched
let exact = []; // samples whose name is just what is searched for
let rowsShown = STEP;

const wanted = () => search.value.trim().toLowerCase();
const isPart = () => wanted() !== "" || focus.size > 0;

function select() {
  focus = new Set([...focus].map((c) => now.home[c]));
  const words = wanted();
  const where = scope?.value ?? "id";
  if (words && !lowered) lowered = Array.from(clusterOf, (_, i) => shownId(i).toLowerCase());
  const classes = new Set(); // those whose names have the words, counted from 1
  if (words && classOf && where !== "id") {
    data.classes.names.forEach((name, c) => {
      const small = name.toLowerCase();
      if (where === "label" ? small.startsWith(words) : small.includes(words)) classes.add(c + 1);
    });
  }
  exact = [];
  selected = 0;
  for (let i = 0; i < sampleCount; i++) {
    const inside = focus.size === 0 || focus.has(homeOf(i));
    const named = !words || (where !== "label" && lowered[i].includes(words));
    const found = inside && (named || (classOf !== null && classes.has(classOf[i])));
    selection[i] = found ? 1 : 0;
    selected += selection[i];
    if (found && words && lowered[i] === words) exact.push(i);
  }
}

function* listed() {
  yield* exact;
  const first = new Set(exact);
  for (let i = 0; i < sampleCount; i++) if (selection[i] && !first.has(i)) yield i;
}

function drawSamples() {
  const known = whole
    ? ""
    : ` This page knows only the ${counted(sampleCount)} of ${counted(data.n)} samples on the map.`;
  const found = isPart() ? `${plural(selected, "sample")} of ${counted(sampleCount)}.` : "";
  byId("matches").textContent = (found || `${plural(sampleCount, "sample")}.`) + known;
  const body = byId("samples").tBodies[0];
  body.replaceChildren();
  let left = rowsShown;
  for (const i of listed()) {
    if (left-- === 0) break;
    body.append(sampleRow(i));
  }
  byId("more-samples").hidden = selected <= rowsShown;
}

function sampleRow(i) {
  const row = element("tr");
  const head = element("th");
  head.scope = "row";
  const name = element("bdi", shownId(i));
  if (pointOf.has(i)) {
    const button = element("button", undefined, "plain");
    button.type = "button";
    button.title = "Show on the map";
    button.append(name);
    button.addEventListener("click", () => {
      plot.focus({ preventScroll: true });
      plot.parentNode.scrollIntoView({ block: "nearest" });
      show(pointOf.get(i));
    });
    head.append(button);
  } else head.append(name);
  const cluster = element("td");
  cluster.append(markOf(homeOf(i)), element("bdi", whoIs(homeOf(i))));
  row.append(head, cluster, element("td", (strengthOf[i] / 10000).toFixed(2)));
  if (classOf) {
    const label = element("td");
    label.append(element("bdi", labelOf(i) ?? "–"));
    row.append(label);
  }
  return row;
}

search.addEventListener("input", () => {
  rowsShown = STEP;
  look();
});
scope?.addEventListener("change", look);
byId("more-samples").addEventListener("click", () => {
  rowsShown += MORE;
  drawSamples();
});
