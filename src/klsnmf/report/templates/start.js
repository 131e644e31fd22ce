// After a change everything is drawn again; after a look at something else, what it concerns.
function draw() {
  drawNames();
  drawStrengths();
  drawFeatures();
  drawChanges();
  look();
}

function look() {
  select();
  drawList();
  drawMap();
  drawInspector();
  drawSamples();
  drawDownloads();
}

colourBy.addEventListener("change", drawMap);

// On a phone lists of members begin short; the style sheet says where.
all("button.more").forEach((button) =>
  button.addEventListener("click", () => {
    button.setAttribute("aria-expanded", "true");
    button.closest(".scroll").classList.add("whole");
  }),
);

// What is linked to is unfolded, and so is everything on paper.
function unfold(target) {
  for (let part = target; part; part = part.parentElement?.closest("details")) {
    if (part.tagName === "DETAILS") part.open = true;
  }
  const own = target.querySelector(":scope > details");
  if (own) own.open = true;
}

function follow() {
  const target = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
  if (target) unfold(target);
}

addEventListener("hashchange", follow);
byId("to-card").addEventListener("click", () => {
  const card = byId(byId("to-card").hash.slice(1));
  if (card) unfold(card);
});
addEventListener("beforeprint", () => all("details").forEach((one) => (one.open = true)));

// On a phone only the first cluster begins unfolded: each is as long as the screen.
const cards = all(".cluster > details");
if (matchMedia("(max-width: 640px)").matches) cards.slice(1).forEach((one) => (one.open = false));

const unfoldAll = byId("unfold");
const mostAreOpen = () => cards.filter((one) => one.open).length > cards.length / 2;
const nameUnfold = () => (unfoldAll.textContent = mostAreOpen() ? "Fold all" : "Unfold all");
if (unfoldAll) nameUnfold();
unfoldAll?.addEventListener("click", () => {
  const open = !mostAreOpen();
  cards.forEach((one) => (one.open = open));
  nameUnfold();
});

follow();
all("[data-live]").forEach((part) => (part.hidden = false));
select();
drawSamples();
drawDownloads();
