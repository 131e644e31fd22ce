// labels.csv with the changes, and the changes as a line of Python.

// A cell that a spreadsheet would take for a formula gets an apostrophe. Names of samples come with
// theirs; those that the reader typed get it here.
const FORMULA = /(^|[;,\t|])(\s*['"]?\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/g;
const isNumber = (text) => text.trim() !== "" && isFinite(Number(text));
const harmless = (text) => (isNumber(text) ? text : text.replace(FORMULA, "$1'$2"));
const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

// Columns that are not in the labels.csv of the command are there only if they say something.
function csv(isWanted) {
  const extra = [
    [data.cut || !whole, "row", rowOf],
    [now.names.size, "name", (i) => quoted(harmless(now.names.get(homeOf(i)) ?? ""))],
    [now.doubtful.size, "doubtful", (i) => (now.doubtful.has(homeOf(i)) ? 1 : 0)],
  ].filter(([needed]) => needed);
  const lines = [["id", "cluster", "strength", ...extra.map(([, name]) => name)].join(",")];
  for (let i = 0; i < sampleCount; i++) {
    if (!isWanted(i)) continue;
    const cluster = outliers.has(i) ? -1 : homeOf(i);
    const cells = [quoted(idOf(i)), cluster, (strengthOf[i] / 10000).toFixed(4)];
    lines.push([...cells, ...extra.map(([, , value]) => value(i))].join(","));
  }
  return `${lines.join("\n")}\n`;
}

function save(name, text) {
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const FROM_FILE =
  'np.loadtxt("labels.csv", int, delimiter=",", skiprows=1, usecols=1, quotechar=\'"\', ' +
  'comments=None, encoding="utf-8")';

function python() {
  const joined = new Map();
  now.home.forEach((home, old) => {
    if (home !== old) joined.set(home, [...(joined.get(home) ?? []), old]);
  });
  const said = ["import numpy as np", `labels = ${data.command ? FROM_FILE : "model.labels_"}`];
  if (joined.size) {
    const which = [...joined.values()].map((old) => `np.isin(labels, [${old.join(", ")}])`);
    const into = [...joined.keys()].join(", ");
    said.push(`labels = np.select([${which.join(", ")}], [${into}], labels)`);
  }
  // A string of JSON is one of Python too.
  const names = [...now.names].map(([c, name]) => `${c}: ${JSON.stringify(name)}`);
  if (names.length) said.push(`names = {${names.join(", ")}}`);
  if (now.doubtful.size) said.push(`doubtful = [${[...now.doubtful].join(", ")}]`);
  return said.join("; ");
}

function drawDownloads() {
  byId("python-line").hidden = !steps.length;
  byId("python").textContent = python();
  byId("download").textContent = steps.length ? "Download labels.csv, changed" : "Download labels.csv";
  const part = byId("download-part");
  part.disabled = !isPart() || selected === 0;
  part.textContent = isPart() ? `Download the selection (${counted(selected)})` : "Download the selection";
}

byId("download").addEventListener("click", () => {
  save("labels.csv", csv(() => true));
  kept = steps.at(-1);
});
byId("download-part").addEventListener("click", () =>
  save("labels-selection.csv", csv((i) => selection[i] === 1)),
);

// Who leaves with changes that were not downloaded is asked first.
let kept; // the last step that was
addEventListener("beforeunload", (event) => {
  if (steps.at(-1) !== kept) event.preventDefault();
});
