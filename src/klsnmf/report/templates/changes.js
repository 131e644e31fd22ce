// What the reader has changed: a list of steps. The state is made from it again, so that undoing is
// to take the last step away.
const steps = [];
const undone = [];
let now = state();

function state() {
  const home = data.sizes.map((_, c) => c); // where each cluster of the fit is now
  const names = new Map();
  const doubtful = new Set();
  for (const step of steps) {
    if (step.kind === "rename") {
      if (step.name) names.set(step.cluster, step.name);
      else names.delete(step.cluster);
    } else if (step.kind === "doubt") {
      if (step.doubtful) doubtful.add(step.cluster);
      else doubtful.delete(step.cluster);
    } else {
      const others = step.clusters.filter((c) => c !== step.into);
      home.forEach((c, old) => others.includes(c) && (home[old] = step.into));
      const name = [step.into, ...others].map((c) => names.get(c)).find(Boolean);
      if (name) names.set(step.into, name);
      others.forEach((c) => (names.delete(c), doubtful.delete(c)));
    }
  }
  const sizes = data.sizes.map(() => 0);
  data.sizes.forEach((size, c) => (sizes[home[c]] += size));
  const living = sizes.flatMap((size, c) => (size ? [c] : []));
  return { home, names, doubtful, sizes, living };
}

const whoIs = (c) => (now.names.has(c) ? `${c} ${now.names.get(c)}` : String(c));
const titleOf = (c) => now.names.get(c) ?? `Cluster ${c}`;
const homeOf = (sample) => now.home[clusterOf[sample]];

function change(step, words) {
  steps.push({ ...step, words });
  undone.length = 0;
  changed(words);
}

function changed(words) {
  now = state();
  const left = `${plural(now.living.length, "cluster")}, ${plural(steps.length, "change")}.`;
  byId("said").textContent = `${words} ${left}`;
  draw();
}

function undo() {
  if (!steps.length) return;
  undone.push(steps.pop());
  changed(`Undone: ${undone.at(-1).words}`);
}

function redo() {
  if (!undone.length) return;
  steps.push(undone.pop());
  changed(`Done again: ${steps.at(-1).words}`);
}

function rename(cluster, text) {
  const name = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "").trim();
  if (name === (now.names.get(cluster) ?? "")) return;
  const words = name ? `Cluster ${cluster} is called ${name}.` : `Cluster ${cluster} has no name.`;
  change({ kind: "rename", cluster, name }, words);
}

function merge(clusters) {
  const which = [...new Set(clusters.map((c) => now.home[c]))].sort((a, b) => a - b);
  if (which.length < 2) return;
  const [into, ...others] = which;
  focus = new Set([into]);
  change({ kind: "merge", clusters: which, into }, `Merged ${others.join(", ")} into ${into}.`);
}

function doubt(cluster) {
  const doubtful = !now.doubtful.has(cluster);
  const words = `Cluster ${cluster} is ${doubtful ? "" : "no longer "}marked as doubtful.`;
  change({ kind: "doubt", cluster, doubtful }, words);
}

function drawChanges() {
  byId("undo").disabled = !steps.length;
  byId("redo").disabled = !undone.length;
}
