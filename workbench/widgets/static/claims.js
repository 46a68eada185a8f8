// What there is to do, and the claims of this home: sorted, searched and walked here, without a word to Python.
// All text reaches the page through textContent.

const SVG = "http://www.w3.org/2000/svg";
const DISMISSED = "wb-dismissed";
const WIDTH = 84;
const HEIGHT = 22;
const LEAST_SPAN = 0.1;
const MOST_ACTS = 12;
const LOOK_EVERY_MS = 5000;
const DATE = /(\d{4}-\d\d-\d\d)/;

const COLUMNS = [
  ["watched", "", (claim) => (claim.watched ? 0 : 1)],
  ["claim", "Claim", (claim) => claim.claim.toLowerCase()],
  ["p", "Probability", (claim) => claim.p ?? -1],
  ["change", "Since last look", (claim) => (claim.change ? Math.abs(claim.change.points) : -1)],
  ["history", "All runs", (claim) => claim.answers.length],
  ["base", "Base rate", (claim) => claim.base_rate ?? -1],
  ["days", "Days left", (claim) => claim.days ?? Number.MAX_SAFE_INTEGER],
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

// By the figures as they are shown, so that a reader who subtracts them finds the same.
function change(claim, looked) {
  const { answers } = claim;
  if (!answers.length) return null;
  const seen = claim.runs.filter((run) => looked[run]).sort((a, b) => looked[b] - looked[a])[0];
  const before = answers.find((answer) => answer.run_id === seen) ?? (seen ? null : answers[answers.length - 2]);
  if (!before) return null;
  const last = answers[answers.length - 1];
  const points = Math.round(10 * (parseFloat(last.p_text) - parseFloat(before.p_text))) / 10;
  const words = seen ? "when you last opened this claim" : "in the run before; you have not opened this claim in this browser";
  return { points, same: before === last, words: `${before.p_text} ${words}` };
}

function signed(points) {
  return `${points > 0 ? "+" : points < 0 ? "\u2212" : ""}${Math.abs(points).toFixed(1)} points`;
}

const KEYS = [
  ["n", "write a new claim"],
  ["/", "search claims and tags; Enter goes to the first"],
  ["j, k", "next claim, previous claim"],
  ["Enter", "open the claim"],
  ["x", "choose the claim to compare"],
  ["s", "watch the claim, or stop watching it"],
  ["Ctrl-K", "list commands; also copy any table, or save it as CSV"],
  ["?", "show this list"],
];

class Claims {
  constructor(model, el) {
    this.model = model;
    this.sort = "age";
    this.rising = false;
    this.chosen = new Set();
    this.at = null;
    this.dismissed = storedMap(DISMISSED);
    this.root = element("div", "wb-claims");
    this.acts = element("section", "wb-acts");
    this.acts.setAttribute("aria-label", "To do");
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
    this.compare = element("button", "wb-button", "Compare runs");
    this.compare.type = "button";
    this.compare.addEventListener("click", () => this.model.send({ type: "compare", runs: [...this.chosen] }));
    this.theme = element("button", "wb-button");
    this.theme.type = "button";
    this.theme.addEventListener("click", () => this.paintTheme(this.isDark() ? "light" : "dark", true));
    this.keys = element("button", "wb-button", "Shortcuts");
    this.keys.type = "button";
    this.keys.title = "keyboard shortcuts (?)";
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
    this.root.append(this.acts, head, this.line, this.table, this.empty, this.overlay.root);
    el.append(this.root);
    this.handlers = {
      "change:claims": () => this.draw(),
      "change:acts": () => this.drawActs(),
      "msg:custom": (message) => message.go && (location.href = pageOf(message.go)),
      "change:line": () => (this.line.textContent = model.get("line")),
    };
    for (const [name, handler] of Object.entries(this.handlers)) model.on(name, handler);
    this.onKey = (event) => this.onPageKey(event);
    window.addEventListener("keydown", this.onKey);
    this.drawActs();
    this.draw();
    this.takeTheme();
    this.watching = setInterval(() => document.hidden || this.look(), LOOK_EVERY_MS);
  }

  // Nothing of this page asks Python by itself: the server says whether the process behind it is there.
  async look() {
    if ((await kernelState()) !== NO_KERNEL || window.workbenchLeft) return;
    clearInterval(this.watching);
    this.line.textContent = "The process behind this page has ended. Reload the page.";
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
    clearInterval(this.watching);
  }

  drawActs() {
    const nameOf = (act) => `${act.run_id} ${act.kind}`;
    const all = this.model.get("acts");
    const open = all.filter((act) => !this.dismissed[nameOf(act)]);
    this.acts.hidden = all.length === 0;
    const list = element("ul");
    for (const act of open.slice(0, MOST_ACTS)) {
      const row = element("li");
      row.dataset.kind = act.kind;
      row.dataset.run = act.run_id;
      const kind = element("span", "wb-state", act.kind);
      kind.dataset.state = act.kind;
      row.append(kind, linkTo(act.run_id, act.claim), element("span", "wb-acts-words", act.words));
      if (["failed", "stopped"].includes(act.kind)) {
        const retry = element("button", "wb-button", "Retry run");
        retry.type = "button";
        retry.addEventListener("click", () => {
          retry.disabled = true;
          retry.textContent = "Starting\u2026";
          this.model.send({ type: "retry", run: act.run_id });
        });
        row.append(retry);
      }
      const dismiss = element("button", "wb-button wb-dismiss", "Dismiss");
      dismiss.type = "button";
      dismiss.setAttribute("aria-label", `dismiss ${act.claim}`);
      dismiss.addEventListener("click", () => this.dismiss({ ...this.dismissed, [nameOf(act)]: true }));
      row.append(dismiss);
      list.append(row);
    }
    const foot = element("p", "wb-empty");
    if (open.length > MOST_ACTS) foot.append(`${open.length - MOST_ACTS} more are in the list of all runs. `);
    if (open.length < all.length) {
      const again = element("button", "wb-button", `Show ${all.length - open.length} dismissed`);
      again.type = "button";
      again.addEventListener("click", () => this.dismiss({}));
      foot.append(again);
    }
    this.acts.replaceChildren(element("h2", "", open.length ? `To do: ${open.length}` : "Nothing to do"), list, foot);
  }

  // By run and kind, not by words: "Closed 3 days ago" is the same act tomorrow.
  dismiss(dismissed) {
    this.dismissed = dismissed;
    localStorage.setItem(DISMISSED, JSON.stringify(dismissed));
    this.drawActs();
  }

  rows() {
    const asked = this.words.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const watched = this.only.getAttribute("aria-pressed") === "true";
    const looked = storedMap(LOOKED);
    const [, , key] = COLUMNS.find(([name]) => name === this.sort);
    const found = this.model
      .get("claims")
      .map((claim) => ({ ...claim, change: change(claim, looked) }))
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
      ? "No claim matches."
      : "No claims yet. Type a claim above or choose an example: an analysis takes about half a minute.";
    for (const run of [...this.chosen]) if (!rows.some((claim) => claim.runs.includes(run))) this.chosen.delete(run);
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
    cell("pick", this.picker(claim.run_id, claim.claim));
    const star = element("button", "wb-star", claim.watched ? "\u2605" : "\u2606");
    star.type = "button";
    star.setAttribute("aria-label", `watch ${claim.claim}`);
    star.setAttribute("aria-pressed", claim.watched);
    star.addEventListener("click", () => this.model.send({ type: "watch", run: claim.run_id, on: !claim.watched }));
    cell("watched", star);
    const link = linkTo(claim.run_id, claim.claim);
    const small = element("span", "wb-label", [`cutoff ${claim.cutoff}`, claim.imported ? "imported" : "", ...claim.tags].filter(Boolean).join(" \u00b7 "));
    const named = cell("claim", link, small);
    if (claim.runs.length > 1) {
      const fold = element("details", "wb-earlier");
      fold.append(element("summary", "", `${claim.runs.length} runs`));
      for (const run of claim.runs) {
        const answer = claim.answers.find((each) => each.run_id === run);
        const row = element("div");
        row.append(run === claim.run_id ? "" : this.picker(run, `${claim.claim}, run ${run}`), linkTo(run, run), answer ? ` ${answer.p_text}` : "");
        fold.append(row);
      }
      named.append(fold);
    }
    cell("p", element("b", "", claim.p_text)).title = claim.p ?? "";
    const moved = cell("change", claim.change === null || claim.change.same ? "" : signed(claim.change.points));
    if (claim.change) {
      moved.title = claim.change.words;
      if (!claim.change.same) moved.dataset.label = "change";
      if (claim.change.points) moved.dataset.side = claim.change.points > 0 ? "up" : "down";
    }
    cell("history", ...(claim.answers.length > 1 ? [spark(claim.answers.map((answer) => answer.p))] : []));
    const base = cell("base", claim.base_rate === null ? "\u2013" : claim.base_text);
    if (claim.base_rate !== null) base.dataset.label = "base rate";
    else base.title = claim.p === null ? "no probability yet" : "no base rate: the evidence of this run counts no past cases of the claim";
    const days = cell("days", claim.days === null ? "" : claim.days < 0 ? "past" : `${claim.days} d`);
    days.title = claim.day;
    if (claim.days >= 0 && claim.days !== null) days.dataset.label = "days left";
    const state = element("span", "wb-state", claim.outcome || claim.state);
    state.dataset.state = claim.outcome ? "resolved" : claim.state;
    cell("state", state);
    cell("age", claim.age).title = claim.started.slice(0, 16);
    return row;
  }

  picker(run, words) {
    const pick = element("input");
    pick.type = "checkbox";
    pick.setAttribute("aria-label", `compare ${words}`);
    pick.checked = this.chosen.has(run);
    pick.addEventListener("change", () => {
      if (pick.checked) this.chosen.add(run);
      else this.chosen.delete(run);
      this.paintChosen();
    });
    return pick;
  }

  paintChosen() {
    const most = this.model.get("most_compared");
    this.compare.disabled = this.chosen.size < 2 || this.chosen.size > most;
    this.compare.textContent = this.chosen.size > 1 ? `Compare ${this.chosen.size} runs` : "Compare runs";
    this.compare.title = `choose two to ${most} claims; each further one is compared with the first`;
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
