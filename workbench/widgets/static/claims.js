// What needs a person, and the claims of this home: sorted, searched and walked here, without a word to Python.
// All text reaches the page through textContent.

const SVG = "http://www.w3.org/2000/svg";
const VISIT = "wb-last-visit";
const WIDTH = 84;
const HEIGHT = 22;
const LEAST_SPAN = 0.1;
const DATE = /(\d{4}-\d\d-\d\d)/;

const COLUMNS = [
  ["watched", "", (claim) => (claim.watched ? 0 : 1)],
  ["claim", "Claim", (claim) => claim.claim.toLowerCase()],
  ["p", "Chance", (claim) => claim.p ?? -1],
  ["change", "Change", (claim) => (claim.change === null ? -1 : Math.abs(claim.change))],
  ["history", "Over its runs", (claim) => claim.history.length],
  ["base", "Base rate", (claim) => claim.base_rate ?? -1],
  ["days", "Days to go", (claim) => claim.days ?? Number.MAX_SAFE_INTEGER],
  ["state", "State", (claim) => claim.outcome || claim.state],
  ["age", "Last run", (claim) => claim.started],
];
const FALLING = new Set(["p", "change", "history", "base", "age"]); // what is largest or newest first

function pageOf(run) {
  return `?run=${encodeURIComponent(run)}`;
}

function spark(values) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("class", "wb-spark");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${values.length} answers: ${values.map((each) => `${Math.round(100 * each)}%`).join(", ")}`);
  const x = (place) => (values.length === 1 ? WIDTH / 2 : 3 + (place * (WIDTH - 6)) / (values.length - 1));
  // The claim's own range, so that a move is seen; no less than ten points, so that noise is not.
  const low = Math.min(...values);
  const high = Math.max(...values);
  const span = Math.max(high - low, LEAST_SPAN);
  const y = (p) => HEIGHT / 2 + (((low + high) / 2 - p) / span) * (HEIGHT - 6);
  const first = document.createElementNS(SVG, "line");
  for (const [name, value] of [["x1", 0], ["x2", WIDTH], ["y1", y(values[0])], ["y2", y(values[0])]]) first.setAttribute(name, value);
  const line = document.createElementNS(SVG, "polyline");
  line.setAttribute("points", values.map((p, place) => `${x(place)},${y(p)}`).join(" "));
  const dot = document.createElementNS(SVG, "circle");
  dot.setAttribute("cx", x(values.length - 1));
  dot.setAttribute("cy", y(values[values.length - 1]));
  dot.setAttribute("r", 2.4);
  svg.append(first, line, dot);
  return svg;
}

// A browser breaks a line at the hyphens of a date.
function linkTo(run, text) {
  const link = element("a");
  link.href = pageOf(run);
  link.append(...text.split(DATE).map((part) => (DATE.test(part) ? element("span", "wb-date", part) : part)));
  return link;
}

function points(change) {
  const tenths = Math.round(1000 * change) / 10;
  return `${tenths > 0 ? "+" : tenths < 0 ? "\u2212" : ""}${Math.abs(tenths).toFixed(1)} points`;
}

// What needs nothing but to be known: shown until the next visit.
const NEWS = new Set(["resolved", "moved"]);

const KEYS = [
  ["n", "write a new claim"],
  ["/", "search claims and tags; Enter goes to the first"],
  ["j, k", "next claim, claim before"],
  ["Enter", "open the claim"],
  ["x", "choose it to compare"],
  ["s", "watch it, or no longer"],
  ["Ctrl-K", "commands; also copies any table, or saves it as CSV"],
  ["?", "this list"],
];

class Claims {
  constructor(model, el) {
    this.model = model;
    this.sort = "age";
    this.rising = false;
    this.chosen = new Set();
    this.at = null;
    // Read once: what came since the visit before stays in sight on this one.
    this.since = localStorage.getItem(VISIT) ?? "";
    localStorage.setItem(VISIT, new Date().toISOString());
    this.root = element("div", "wb-claims");
    this.needs = element("section", "wb-needs");
    this.needs.setAttribute("aria-label", "Needs you");
    this.words = element("input", "wb-search");
    this.words.type = "search";
    this.words.placeholder = "Search claims and tags";
    this.words.setAttribute("aria-label", "search claims and tags");
    this.words.addEventListener("input", () => this.draw());
    this.words.addEventListener("keydown", (event) => {
      if (!["Enter", "ArrowDown"].includes(event.key)) return;
      event.preventDefault();
      this.table.querySelector("tbody tr")?.focus();
    });
    this.only = element("button", "wb-button", "Watched");
    this.only.type = "button";
    this.only.setAttribute("aria-pressed", "false");
    this.only.addEventListener("click", () => {
      this.only.setAttribute("aria-pressed", this.only.getAttribute("aria-pressed") !== "true");
      this.draw();
    });
    this.compare = element("button", "wb-button", "Compare");
    this.compare.type = "button";
    this.compare.addEventListener("click", () => this.model.send({ type: "compare", runs: [...this.chosen] }));
    this.theme = element("button", "wb-button");
    this.theme.type = "button";
    this.theme.addEventListener("click", () => this.paintTheme(this.isDark() ? "light" : "dark", true));
    this.keys = element("button", "wb-button", "Keys");
    this.keys.type = "button";
    this.keys.title = "what the keyboard does (?)";
    this.keys.addEventListener("click", () => this.overlay.showKeys(KEYS));
    this.overlay = new Overlay();
    this.count = element("span", "wb-count");
    this.line = element("div", "wb-line wb-bad");
    this.line.setAttribute("role", "status");
    const head = element("div", "wb-claims-head");
    head.append(element("h2", "", "Claims"), this.count, this.words, this.only, this.compare, this.keys, this.theme);
    this.table = element("table", "wb-table wb-claim-table");
    this.table.setAttribute("aria-label", "Claims");
    this.table.addEventListener("keydown", (event) => this.onRowKey(event));
    this.empty = element("p", "wb-empty");
    this.root.append(this.needs, head, this.line, this.table, this.empty, this.overlay.root);
    el.append(this.root);
    this.handlers = {
      "change:claims": () => this.draw(),
      "change:needs": () => this.drawNeeds(),
      "msg:custom": (message) => message.go && (location.href = pageOf(message.go)),
      "change:line": () => (this.line.textContent = model.get("line")),
    };
    for (const [name, handler] of Object.entries(this.handlers)) model.on(name, handler);
    this.onKey = (event) => this.onPageKey(event);
    window.addEventListener("keydown", this.onKey);
    this.drawNeeds();
    this.draw();
    this.takeTheme();
  }

  // As the page of a run does: the reader's last choice, else the system's, unless the address names a theme.
  takeTheme() {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const named = new URL(location.href).searchParams.has("theme");
    const paint = () =>
      this.paintTheme(named ? (this.isDark() ? "dark" : "light") : (localStorage.getItem("wb-theme") ?? (system.matches ? "dark" : "light")));
    system.addEventListener("change", paint);
    paint();
  }

  isDark() {
    return document.body.dataset.jpThemeLight === "false";
  }

  paintTheme(theme, chosen = false) {
    if (chosen) localStorage.setItem("wb-theme", theme);
    document.body.dataset.jpThemeLight = theme === "light" ? "true" : "false";
    document.body.classList.toggle("wb-dark", theme === "dark");
    this.theme.textContent = theme === "dark" ? "Light" : "Dark";
    this.theme.title = `show this page ${theme === "dark" ? "light" : "dark"}`;
  }

  destroy() {
    for (const [name, handler] of Object.entries(this.handlers)) this.model.off(name, handler);
    window.removeEventListener("keydown", this.onKey);
  }

  drawNeeds() {
    const asked = this.model.get("needs").filter((each) => !NEWS.has(each.kind) || each.at > this.since);
    this.needs.hidden = asked.length === 0;
    const list = element("ul");
    for (const each of asked.slice(0, 12)) {
      const row = element("li");
      row.dataset.kind = each.kind;
      row.dataset.run = each.run_id;
      const link = linkTo(each.run_id, each.claim);
      const kind = element("span", "wb-state", each.kind);
      kind.dataset.state = each.kind;
      row.append(kind, link, element("span", "wb-needs-words", each.words));
      if (["failed", "stopped"].includes(each.kind)) {
        const retry = element("button", "wb-button", "Retry");
        retry.type = "button";
        retry.addEventListener("click", () => {
          retry.disabled = true;
          retry.textContent = "Starting\u2026";
          this.model.send({ type: "retry", run: each.run_id });
        });
        row.append(retry);
      }
      list.append(row);
    }
    const more = asked.length - 12;
    this.needs.replaceChildren(element("h2", "", `Needs you: ${asked.length}`), list);
    if (more > 0) this.needs.append(element("p", "wb-empty", `and ${more} more in the list of all runs`));
  }

  rows() {
    const asked = this.words.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const watched = this.only.getAttribute("aria-pressed") === "true";
    const [, , key] = COLUMNS.find(([name]) => name === this.sort);
    const found = this.model
      .get("claims")
      .filter((claim) => !watched || claim.watched)
      .filter((claim) => {
        const text = `${claim.claim} ${claim.tags.join(" ")}`.toLowerCase();
        // A run's id is all digits: a short number would be found in every one.
        return asked.every((word) => text.includes(word) || (word.length >= 8 && claim.runs.some((run) => run.includes(word))));
      });
    const order = (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0);
    found.sort((a, b) => (this.rising ? order(a, b) : order(b, a)));
    return found;
  }

  draw() {
    const rows = this.rows();
    const all = this.model.get("claims").length;
    this.count.textContent = rows.length === all ? `${all}` : `${rows.length} of ${all}`;
    const had = this.table.contains(document.activeElement) ? document.activeElement.closest("tr")?.dataset.run : null;
    const head = element("tr");
    head.append(element("td"));
    for (const [name, label] of COLUMNS) {
      const cell = element("th");
      cell.scope = "col";
      cell.dataset.column = name; // as wide and as far to the right as what stands below
      cell.setAttribute("aria-sort", this.sort === name ? (this.rising ? "ascending" : "descending") : "none");
      const sorter = element("button", "wb-sort", label || "\u2605");
      sorter.type = "button";
      sorter.title = `sort by ${label.toLowerCase() || "watched"}`;
      sorter.addEventListener("click", () => {
        this.rising = this.sort === name ? !this.rising : !FALLING.has(name);
        this.sort = name;
        this.draw();
        this.table.querySelectorAll(".wb-sort")[COLUMNS.findIndex(([each]) => each === name)].focus();
      });
      cell.append(sorter);
      head.append(cell);
    }
    const top = element("thead");
    top.append(head);
    const body = element("tbody");
    body.append(...rows.map((claim) => this.row(claim)));
    this.table.replaceChildren(top, body);
    this.table.hidden = rows.length === 0;
    this.empty.hidden = rows.length > 0;
    this.empty.textContent = all
      ? "No claim has these words."
      : "No claims yet. Type one above, or take an example: the first answer takes about half a minute.";
    for (const run of [...this.chosen]) if (!rows.some((claim) => claim.run_id === run)) this.chosen.delete(run);
    this.paintChosen();
    if (had) this.table.querySelector(`tr[data-run="${CSS.escape(had)}"]`)?.focus();
  }

  row(claim) {
    const row = element("tr");
    row.dataset.run = claim.run_id;
    row.tabIndex = -1;
    const cell = (name, ...parts) => {
      const made = element("td");
      made.dataset.column = name;
      made.append(...parts);
      row.append(made);
      return made;
    };
    const pick = element("input");
    pick.type = "checkbox";
    pick.setAttribute("aria-label", `compare ${claim.claim}`);
    pick.checked = this.chosen.has(claim.run_id);
    pick.addEventListener("change", () => {
      if (pick.checked) this.chosen.add(claim.run_id);
      else this.chosen.delete(claim.run_id);
      this.paintChosen();
    });
    cell("pick", pick);
    const star = element("button", "wb-star", claim.watched ? "\u2605" : "\u2606");
    star.type = "button";
    star.setAttribute("aria-label", `watch ${claim.claim}`);
    star.setAttribute("aria-pressed", claim.watched);
    star.addEventListener("click", () => this.model.send({ type: "watch", run: claim.run_id, on: !claim.watched }));
    cell("watched", star);
    const link = linkTo(claim.run_id, claim.claim);
    const small = element("span", "wb-label", [`cutoff ${claim.cutoff}`, claim.imported ? "IMPORTED" : "", ...claim.tags].filter(Boolean).join(" \u00b7 "));
    const named = cell("claim", link, small);
    if (claim.runs.length > 1) {
      const fold = element("details", "wb-earlier");
      fold.append(element("summary", "", `${claim.runs.length} runs`));
      for (const run of claim.runs) {
        const each = element("a", "", run);
        each.href = pageOf(run);
        fold.append(each);
      }
      named.append(fold);
    }
    cell("p", element("b", "", claim.p_text)).title = claim.p ?? "";
    const change = cell("change", claim.change === null ? "" : points(claim.change));
    if (claim.change !== null) change.dataset.label = "change";
    if (claim.change) change.dataset.side = claim.change > 0 ? "up" : "down";
    cell("history", ...(claim.history.length > 1 ? [spark(claim.history)] : []));
    const base = cell("base", claim.base_rate === null ? "\u2013" : claim.base_text);
    if (claim.base_rate !== null) base.dataset.label = "base rate";
    else base.title = claim.p === null ? "no answer yet" : "none known: the evidence of this run counted no past cases of the claim";
    const days = cell("days", claim.days === null ? "" : claim.days < 0 ? "past" : `${claim.days} d`);
    days.title = claim.day;
    if (claim.days >= 0 && claim.days !== null) days.dataset.label = "days to go";
    const state = element("span", "wb-state", claim.outcome || claim.state);
    state.dataset.state = claim.outcome ? "resolved" : claim.state;
    cell("state", state);
    cell("age", claim.age).title = claim.started.slice(0, 16);
    return row;
  }

  paintChosen() {
    this.compare.disabled = this.chosen.size < 2;
    this.compare.textContent = this.chosen.size > 1 ? `Compare ${this.chosen.size}` : "Compare";
  }

  onPageKey(event) {
    const place = event.target;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      this.overlay.showCommands(this.commands());
      return;
    }
    if (this.overlay.isOpen || event.ctrlKey || event.metaKey || event.altKey || (isWriting(place) && place.type !== "checkbox")) return;
    const rows = [...this.table.querySelectorAll("tbody tr")];
    const at = rows.indexOf(document.activeElement?.closest?.("tr"));
    const acts = {
      "/": () => this.words.focus(),
      n: () => this.app?.querySelector(".wb-claim textarea")?.focus(),
      "?": () => this.overlay.showKeys(KEYS),
      j: () => rows[Math.min(rows.length - 1, at + 1)]?.focus(),
      k: () => rows[Math.max(0, at - 1)]?.focus(),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }

  get app() {
    return this.root.closest(".wb-app");
  }

  commands() {
    const rows = [...this.table.querySelectorAll("tbody tr")];
    return [
      ["New claim", () => this.app.querySelector(".wb-claim textarea").focus()],
      ...[...this.app.querySelectorAll("button.wb-action, .wb-claims-head .wb-button")]
        .filter((button) => !button.disabled && button.offsetParent && button.textContent.trim())
        .map((button) => [button.textContent.trim(), () => button.click()]),
      ...tableCommands(this.app),
      ...rows.map((row) => [`Open: ${row.querySelector("a").textContent}`, () => (location.href = pageOf(row.dataset.run))]),
    ];
  }

  onRowKey(event) {
    if (event.target.nodeName !== "TR") return;
    if (event.key === "Enter") location.href = pageOf(event.target.dataset.run);
    else if (event.key === "x") event.target.querySelector("input").click();
    else if (event.key === "s") event.target.querySelector(".wb-star").click();
    else return;
    event.preventDefault();
  }
}

function render({ model, el }) {
  offerTables();
  const claims = new Claims(model, el);
  return () => claims.destroy();
}

export default { render };
