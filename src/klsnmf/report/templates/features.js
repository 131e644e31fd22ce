// Every feature of a cluster, made when its table is opened: means of its members and of all
// others, and Cohen's d, their difference in standard deviations within the two groups.
const FEATURE_ROWS = 20;
const known = data.features && {
  names: data.features.names,
  means: unpack(data.features.means, Float64Array),
  spreads: unpack(data.features.spreads, Float64Array),
  centers: unpack(data.features.centers, Int16Array),
};

const AT_MOST = 99;

function effects(cluster) {
  const { unit } = data.features;
  const count = known.names.length;
  const members = data.sizes.flatMap((size, c) => (size && now.home[c] === cluster ? [c] : []));
  const inside = now.sizes[cluster];
  const outside = data.n - inside;
  return known.names.map((name, j) => {
    const sum = members.reduce((s, c) => s + data.sizes[c] * known.centers[c * count + j] * unit, 0);
    // Over all samples the mean is 0 and the variance 1: what is not between the two groups is
    // within them.
    const own = sum / inside;
    const others = outside ? -sum / outside : 0;
    const between = (inside * own ** 2 + outside * others ** 2) / data.n;
    const d = outside ? (own - others) / Math.sqrt(Math.max(1 - between, 1e-9)) : 0;
    const value = (place) => known.means[j] + place * known.spreads[j];
    return { name, own: value(own), others: outside ? value(others) : NaN, d };
  });
}

const signed = (d) =>
  `${d < 0 ? "\u2212" : "+"}${Math.abs(d) > AT_MOST ? `over ${AT_MOST}` : Math.abs(d).toFixed(2)}`;

const COLUMNS = [
  ["feature", (a, b) => a.name.localeCompare(b.name, undefined, { numeric: true })],
  ["effect size d", (a, b) => Math.abs(b.d) - Math.abs(a.d)],
  ["members", (a, b) => b.own - a.own],
  ["all others", (a, b) => b.others - a.others],
];

class FeatureTable {
  constructor(place) {
    this.place = place;
    this.cluster = Number(place.dataset.features);
    this.by = 1;
    this.forward = true;
    this.shown = FEATURE_ROWS;
    const id = `find-${this.cluster}`;
    const label = element("label", "Find a feature");
    label.htmlFor = id;
    this.find = element("input");
    Object.assign(this.find, { id, type: "search", autocomplete: "off" });
    const field = element("p", undefined, "field");
    field.append(label, this.find);
    const scroll = element("div", undefined, "scroll");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", `Features of cluster ${this.cluster}`);
    const table = element("table", undefined, "feature-table");
    const head = element("tr");
    this.heads = COLUMNS.map(([name], by) => this.head(name, by));
    head.append(...this.heads);
    table.append(element("thead"), element("tbody"));
    table.tHead.append(head);
    this.body = table.tBodies[0];
    this.more = element("button", "Show more features", "plain");
    this.more.type = "button";
    this.more.addEventListener("click", () => {
      this.shown += 200;
      this.draw();
    });
    this.find.addEventListener("input", () => this.draw());
    scroll.append(table);
    place.append(field, scroll, this.more);
  }

  head(name, by) {
    const cell = element("th", undefined, by ? "n" : "");
    cell.scope = "col";
    const button = element("button", name, "plain");
    button.type = "button";
    button.addEventListener("click", () => {
      this.forward = this.by === by ? !this.forward : true;
      this.by = by;
      this.draw();
    });
    cell.append(button);
    return cell;
  }

  draw() {
    const found = effects(now.home[this.cluster]);
    const words = this.find.value.trim().toLowerCase();
    const some = found.filter((one) => one.name.toLowerCase().includes(words));
    some.sort(COLUMNS[this.by][1]);
    if (!this.forward) some.reverse();
    const widest = Math.min(Math.max(...found.map((one) => Math.abs(one.d)), 1e-9), AT_MOST);
    this.body.replaceChildren(...some.slice(0, this.shown).map((one) => this.row(one, widest)));
    this.more.hidden = some.length <= this.shown;
    this.heads.forEach((head, by) => {
      const order = (by === 0) === this.forward ? "ascending" : "descending";
      if (by === this.by) head.setAttribute("aria-sort", order);
      else head.removeAttribute("aria-sort");
    });
  }

  row({ name, own, others, d }, widest) {
    const row = element("tr");
    const head = element("th");
    head.scope = "row";
    head.append(element("bdi", name));
    const effect = element("td", undefined, "n effect");
    const bar = element("span", undefined, d < 0 ? "less" : "");
    bar.style.width = `${(100 * Math.min(Math.abs(d) / widest, 1)).toFixed(1)}%`;
    const rail = element("span", undefined, "rail");
    rail.append(bar);
    effect.append(rail, signed(d));
    const values = [own, others].map((v) => element("td", isNaN(v) ? "–" : fourDigits(v), "n"));
    row.append(head, effect, ...values);
    return row;
  }
}

const tables = new Map();

function drawFeatures() {
  tables.forEach((table, place) => place.open && table.draw());
}

all("[data-features]").forEach((place) =>
  place.addEventListener("toggle", () => {
    if (!place.open) return;
    if (!tables.has(place)) tables.set(place, new FeatureTable(place));
    tables.get(place).draw();
  }),
);
