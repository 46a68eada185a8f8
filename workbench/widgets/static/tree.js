// The proposition tree. Python owns every number: edits go up as messages, changed rows come back as patches.
// All text reaches the page through textContent, so nothing a model wrote is ever read as markup.

const EXPANDED_UP_TO = 50; // larger trees open with the root and its children only
const IN_PAGE_UP_TO = 200; // longer lists have rows of one height in a box that scrolls, and only those in sight are made
const BEYOND_SIGHT = 8; // rows made above and below those in sight
const REST_AFTER_MS = 120; // without another edit: the panels beside the tree are brought up to date then
const FIND_AFTER_MS = 150;
const STEP = 0.01;
const ANSWER_WITHIN_MS = 15000;
const PING_EVERY_MS = 3000;
const ASK_AFTER_MS = 4500; // without any word from Python: an answer to a ping is late
const LOST_AFTER_MS = 9000; // without any word, where the server does not answer either
const ANEW_AFTER_MS = 30000; // without any word, where the server's kernel rests: it was begun anew and knows no page
const GONE_AFTER_MS = 60000; // without any word, whatever the server says

const SVG = "http://www.w3.org/2000/svg";

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function icon(path, size = 14) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("width", size);
  svg.setAttribute("height", size);
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  line.setAttribute("fill", "none");
  line.setAttribute("stroke", "currentColor");
  line.setAttribute("stroke-width", "1.6");
  line.setAttribute("stroke-linecap", "round");
  line.setAttribute("stroke-linejoin", "round");
  svg.append(line);
  return svg;
}

const CHEVRON = "M6 4l4 4-4 4";
const UNDO = "M3.2 6.2h6.3a3.6 3.6 0 1 1 0 7.2H6M3.2 6.2l3-3M3.2 6.2l3 3";

// The statement's text with its dates kept on one line.
function words(text) {
  return text.split(/(\b\d{4}-\d\d-\d\d\b)/).map((part, place) => (place % 2 ? element("span", "wb-date", part) : part));
}

// The letter of a shortcut; on a keyboard of another alphabet, the one of a Latin keyboard at this place.
function letter(event) {
  return (/^[a-z]$/i.test(event.key) ? event.key : (event.code ?? "").replace(/^Key/, "")).toLowerCase();
}

// Where a person writes words, or JupyterLab's code: undo is that text's own.
function isFreeText(place) {
  if (place.isContentEditable || place.nodeName === "TEXTAREA") return true;
  const other = ["button", "checkbox", "color", "file", "image", "radio", "range", "reset", "submit"];
  return place.nodeName === "INPUT" && !other.includes(place.type) && !place.classList.contains("wb-input");
}

// Whose Ctrl-Z is: that of the tree used last, or of none once something else of JupyterLab was used after it. The window
// keeps it, as each tree of a page has a module of its own.
const undo = (window.workbenchUndo ??= { tree: null });

class TreeView {
  constructor(model, el) {
    this.model = model;
    this.rows = new Map();
    this.collapsed = new Set();
    this.seen = []; // the propositions that can be scrolled to, in order
    this.asked_rows = new Set();
    this.found = null; // what a search found and what lies above it, or null without one
    this.zoomed = null;
    this.focusId = null;
    this.waiting = 0;
    this.root = element("div", "wb-tree");
    this.bar = this.toolbar();
    this.list = element("div", "wb-rows");
    this.list.setAttribute("role", "tree");
    this.list.setAttribute("aria-label", "Claim and drivers");
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    this.list.addEventListener("scroll", () => this.onScroll());
    this.space = element("div", "wb-space");
    this.space.setAttribute("role", "presentation");
    this.path = element("nav", "wb-path");
    this.path.setAttribute("aria-label", "Path of the part shown");
    this.path.hidden = true;
    this.banner = element("div", "wb-banner");
    this.banner.setAttribute("role", "alert");
    this.banner.hidden = true;
    this.unanswered = new Map(); // what was typed and not answered yet, by proposition
    this.line = element("div", "wb-line");
    this.line.setAttribute("role", "status");
    this.line.setAttribute("aria-live", "polite");
    this.root.append(this.banner, this.bar, this.path, this.list, this.line);
    el.append(this.root);

    this.handlers = {
      "change:tree": () => this.build(),
      "change:selected": () => {
        this.reveal(this.model.get("selected"));
        this.paintSelection();
        this.showAddress();
      },
      "change:scenario": () => this.showAddress(),
      "msg:custom": (message) => this.onMessage(message),
    };
    for (const [name, handler] of Object.entries(this.handlers)) model.on(name, handler);
    // On the window and before anybody else: JupyterLab has shortcuts of its own, and a browser takes back what was typed
    // last into any field of the page, whatever has the focus.
    this.onPage = {
      pointerdown: (event) => this.onUse(event),
      focusin: (event) => this.onUse(event),
      keydown: (event) => this.onUndoKey(event),
    };
    for (const [name, handler] of Object.entries(this.onPage)) window.addEventListener(name, handler, true);
    if (model.get("owns_address")) undo.tree = this;
    this.build();
    this.reveal(model.get("selected"));
    this.watch = new ResizeObserver(() => this.seen.length > IN_PAGE_UP_TO && this.renderRows());
    this.watch.observe(this.list);
    if (model.get("owns_address")) this.takeTheme();
    this.sayReady();
    this.heard = this.answered = Date.now();
    this.pinging = setInterval(() => this.ping(), PING_EVERY_MS);
    this.sendLeftOver();
    this.comeToRest();
  }

  destroy() {
    clearTimeout(this.timer);
    clearTimeout(this.resting);
    clearTimeout(this.finding);
    clearTimeout(this.raising);
    this.theme?.remove();
    clearInterval(this.pinging);
    this.watch.disconnect();
    for (const [name, handler] of Object.entries(this.onPage)) window.removeEventListener(name, handler, true);
    if (undo.tree === this) undo.tree = null;
    for (const [name, handler] of Object.entries(this.handlers)) this.model.off(name, handler);
  }

  get tree() {
    return this.model.get("tree");
  }

  // ---- building -------------------------------------------------------------------------------------------------

  toolbar() {
    const bar = element("div", "wb-bar");
    this.count = element("span", "wb-count");
    const button = (label, act) => {
      const made = element("button", "wb-button", label);
      made.type = "button";
      made.addEventListener("click", act);
      return made;
    };
    this.resetAll = button("Reset all", () => this.send({ type: "reset_all" }));
    this.zoomer = button("Zoom", () => this.zoom(this.zoomed === null ? this.model.get("selected") : null));
    this.zoomer.title = "show only the selected branch and what lies above it";
    bar.append(
      this.count,
      this.searching(),
      button("Expand all", () => this.fold(() => false)),
      button("Collapse", () => this.fold((id) => id !== this.tree.order[0])),
      this.zoomer,
      this.resetAll,
    );
    return bar;
  }

  searching() {
    this.words = element("input", "wb-search");
    this.words.type = "search";
    this.words.placeholder = "Search";
    this.words.setAttribute("aria-label", "search the drivers");
    this.kind = element("select", "wb-kind");
    this.kind.setAttribute("aria-label", "which drivers");
    for (const [kind, label] of [["", "all"], ["changed", "changed"], ["leaf", "with evidence"], ["open", "open or stale"]]) {
      const option = element("option", "", label);
      option.value = kind;
      this.kind.append(option);
    }
    const find = () => {
      clearTimeout(this.finding);
      this.finding = setTimeout(() => this.find(), FIND_AFTER_MS);
    };
    this.words.addEventListener("input", find);
    this.kind.addEventListener("change", find);
    this.words.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (!["Enter", "ArrowDown"].includes(event.key)) return;
      event.preventDefault();
      this.list.querySelector('[data-found="true"], [role="treeitem"][tabindex="0"]')?.focus();
    });
    const both = element("span", "wb-find");
    both.append(this.words, this.kind);
    return both;
  }

  find() {
    const text = this.words.value.trim();
    if (text || this.kind.value) {
      this.model.send({ type: "find", text, kind: this.kind.value });
    } else if (this.found) {
      this.found = null;
      this.showFolds();
    }
  }

  onFound({ text, kind, ids }) {
    if (text !== this.words.value.trim() || kind !== this.kind.value) return; // the answer to an older question
    this.found = new Set(ids);
    this.hits = ids.length;
    for (const id of ids) for (let above = this.parents.get(id); above; above = this.parents.get(above)) this.found.add(above);
    this.matched = new Set(ids);
    this.list.scrollTop = 0;
    this.showFolds();
  }

  zoom(id) {
    this.zoomed = id === this.tree.order[0] ? null : id;
    this.zoomer.textContent = this.zoomed === null ? "Zoom" : "Whole tree";
    this.zoomer.setAttribute("aria-pressed", this.zoomed !== null);
    this.list.scrollTop = 0;
    this.showFolds();
  }

  above(id) {
    const path = [];
    for (let each = this.parents.get(id); each; each = this.parents.get(each)) path.unshift(each);
    return path;
  }

  paintPath() {
    this.path.hidden = this.zoomed === null;
    if (this.zoomed === null) return;
    const steps = [...this.above(this.zoomed), this.zoomed].map((id) => {
      const step = element("button", "wb-step", id);
      step.type = "button";
      step.title = this.tree.nodes[id]?.statement ?? "";
      step.addEventListener("click", () => this.zoom(id));
      return step;
    });
    this.path.replaceChildren(...steps);
  }

  // An id says where its proposition hangs: P1.2 below P1, P1 below P0.
  build() {
    const { order, leaves } = this.tree;
    const first = !this.parents;
    const had = this.list.contains(document.activeElement) ? document.activeElement.closest(".wb-row")?.dataset.id : null;
    this.rows.clear();
    this.asked_rows.clear();
    this.list.replaceChildren(this.space);
    this.parents = new Map();
    this.kids = new Map(order.map((id) => [id, []]));
    for (const id of order) {
      const dot = id.lastIndexOf(".");
      const parent = id === order[0] ? null : dot < 0 ? order[0] : id.slice(0, dot);
      this.parents.set(id, parent);
      if (parent !== null) this.kids.get(parent).push(id);
    }
    for (const id of this.collapsed) if (!this.kids.get(id)?.length) this.collapsed.delete(id);
    if (first && order.length > EXPANDED_UP_TO) {
      for (const id of order) if (id !== order[0] && this.kids.get(id).length) this.collapsed.add(id);
    }
    if (this.zoomed !== null && !this.parents.has(this.zoomed)) this.zoom(null);
    if (!this.parents.has(this.focusId)) this.focusId = order[0] ?? null;
    this.leaves = leaves;
    this.showFolds();
    this.paintSelection();
    this.paintState();
    if (had) (this.rows.get(had) ?? this.rows.get(this.focusId))?.row.focus({ preventScroll: true });
  }

  // ---- the rows in sight ----------------------------------------------------------------------------------------

  onScroll() {
    if (this.drawing || this.seen.length <= IN_PAGE_UP_TO) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = null;
      this.renderRows();
    });
  }

  rowHeight() {
    return parseFloat(getComputedStyle(this.list).getPropertyValue("--wb-row-height")) || 46;
  }

  renderRows() {
    const many = this.seen.length > IN_PAGE_UP_TO;
    this.list.classList.toggle("wb-many", many);
    const height = many ? this.rowHeight() : 0;
    this.space.style.height = `${many ? height * this.seen.length : 0}px`; // before the box is measured
    let [from, to] = [0, this.seen.length];
    if (many) {
      const { scrollTop, clientHeight } = this.list;
      from = Math.max(0, Math.floor(scrollTop / height) - BEYOND_SIGHT);
      to = Math.min(to, Math.ceil((scrollTop + clientHeight) / height) + BEYOND_SIGHT);
    }
    const wanted = this.seen.slice(from, to);
    const kept = new Set(wanted);
    for (const [id, { row }] of this.rows) {
      // A row that is being edited stays while it is scrolled out of sight: its field holds what was typed.
      if (kept.has(id) || (this.places.has(id) && row.contains(document.activeElement))) continue;
      row.remove();
      this.rows.delete(id);
    }
    const missing = [];
    let cursor = this.space.nextSibling;
    for (const id of wanted) {
      if (!this.tree.nodes[id] && !this.asked_rows.has(id)) missing.push(id);
      if (!this.tree.nodes[id]) continue;
      if (!this.rows.has(id)) {
        this.row(this.tree.nodes[id]);
        this.paint(id);
        this.paintFold(id);
      }
      const { row } = this.rows.get(id);
      row.style.top = many ? `${height * this.places.get(id)}px` : "";
      if (row === cursor) cursor = cursor.nextSibling;
      else this.list.insertBefore(row, cursor);
    }
    if (missing.length) {
      for (const id of missing) this.asked_rows.add(id);
      this.model.send({ type: "rows", ids: missing });
    }
    this.rove(this.focusId);
  }

  paintFold(id) {
    const { row, twisty } = this.rows.get(id);
    row.dataset.found = this.found !== null && this.matched.has(id);
    if (!this.kids.get(id).length) return;
    const open = !this.isFolded(id);
    row.setAttribute("aria-expanded", open);
    twisty.dataset.open = open;
  }

  // What a search found is shown, whatever is folded.
  isFolded(id) {
    return this.collapsed.has(id) && this.found === null;
  }

  // Bring a proposition into the list and into sight.
  reveal(id) {
    if (!this.parents.has(id)) return;
    if (!this.places.has(id)) {
      this.found = null;
      this.words.value = this.kind.value = "";
      if (this.zoomed !== null) this.zoom(null);
      for (const above of this.above(id)) this.collapsed.delete(above);
      this.showFolds();
    }
    if (this.seen.length <= IN_PAGE_UP_TO) return;
    const height = this.rowHeight();
    const top = height * this.places.get(id);
    const { scrollTop, clientHeight } = this.list;
    if (top < scrollTop) this.list.scrollTop = top;
    else if (top + height > scrollTop + clientHeight) this.list.scrollTop = top + height - clientHeight;
    this.renderRows();
  }

  row(node) {
    const row = element("div", "wb-row");
    row.setAttribute("role", "treeitem");
    row.setAttribute("aria-level", node.level + 1);
    row.setAttribute("aria-setsize", node.setsize);
    row.setAttribute("aria-posinset", node.posinset);
    row.dataset.id = node.id;
    row.dataset.kind = node.kind;
    row.tabIndex = -1;
    row.style.setProperty("--wb-level", node.level);

    const twisty = element("button", "wb-twisty");
    twisty.type = "button";
    twisty.tabIndex = -1;
    if (node.children.length) {
      twisty.append(icon(CHEVRON));
      twisty.setAttribute("aria-label", `fold ${node.id}`);
      twisty.addEventListener("click", () => this.toggle(node.id));
    } else {
      twisty.disabled = true;
      twisty.setAttribute("aria-hidden", "true");
    }

    const head = element("div", "wb-head");
    const id = element("span", "wb-id", node.id);
    const sign = element("span", "wb-sign");
    if (node.polarity) {
      const positive = node.polarity === "Positive";
      sign.textContent = positive ? "+" : "\u2212";
      sign.dataset.sign = positive ? "up" : "down";
      sign.title = positive ? "makes the statement above more likely" : "makes the statement above less likely";
    }
    const marks = element("span", "wb-marks");
    head.append(id, sign, marks);

    const words = element("div", "wb-words");
    const statement = element("div", "wb-statement");
    const note = element("div", "wb-note");
    words.append(statement, note);

    const gauge = element("div", "wb-gauge");
    gauge.setAttribute("aria-hidden", "true");
    const track = element("div", "wb-track");
    const fill = element("div", "wb-fill");
    const ghost = element("div", "wb-ghost");
    track.append(fill, ghost);
    gauge.append(track);

    const figures = element("div", "wb-figures");
    const probability = element("span", "wb-p");
    probability.dataset.field = "probability";
    const was = element("span", "wb-was");
    was.dataset.field = "base";
    figures.append(probability, was);

    const input = element("input", "wb-input");
    input.type = "text";
    input.inputMode = "decimal";
    input.autocomplete = "off";
    input.spellcheck = false;
    input.tabIndex = -1; // the tree is one Tab stop; Enter or F2 goes from a row into its field
    input.setAttribute("aria-label", `probability of ${node.id}`);
    input.title = "a probability from 0 to 1; arrow keys step by 0.01";

    const undo = element("button", "wb-undo");
    undo.type = "button";
    undo.append(icon(UNDO));

    row.append(twisty, head, words, gauge, figures, input, undo);
    row.setAttribute("aria-selected", node.id === this.model.get("selected"));
    const parts = { row, twisty, statement, note, marks, track, fill, ghost, probability, was, input, undo };
    this.rows.set(node.id, parts);
    this.wire(node.id, parts, gauge);
    return row;
  }

  wire(id, parts, gauge) {
    const { row, input, undo } = parts;
    row.addEventListener("click", (event) => {
      if (!event.target.closest("button")) this.select(id);
    });
    row.addEventListener("focus", () => this.rove(id));
    input.addEventListener("focus", () => {
      this.select(id);
      input.select();
    });
    input.addEventListener("beforeinput", (event) => event.inputType.startsWith("history") && event.preventDefault());
    input.addEventListener("input", (event) => {
      // An undo of the browser's that came through: by its menu, in a browser that does not ask the field first.
      if (event.inputType?.startsWith("history")) this.restore(input);
      else if (input.value !== this.tree.nodes[id].value) input.dataset.dirty = "1";
      else delete input.dataset.dirty;
    });
    input.addEventListener("change", () => {
      // A blur after nothing but a look at the rounded value is no edit.
      if (input.value.trim() !== this.tree.nodes[id].value) this.edit(id, input.value);
    });
    input.addEventListener("keydown", (event) => this.onInputKey(event, id, input));
    undo.addEventListener("click", () => this.send({ type: "reset", id }));
    this.wireDrag(id, gauge, parts);
  }

  // Dragging the bar edits too. A click alone does not: a slip of the mouse must not change a forecast. At most one
  // edit is in flight, the newest position waits for its answer.
  wireDrag(id, gauge, { track }) {
    let start = null;
    let moved = false;
    const at = (event) => {
      const box = track.getBoundingClientRect();
      return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    };
    gauge.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      start = event.clientX;
      moved = false;
      gauge.setPointerCapture(event.pointerId);
    });
    gauge.addEventListener("pointermove", (event) => {
      if (start === null || (!moved && Math.abs(event.clientX - start) < 4)) return;
      moved = true;
      this.dragged = { id, text: at(event).toFixed(2) };
      this.sendDragged();
    });
    const end = () => (start = null);
    gauge.addEventListener("pointerup", end);
    gauge.addEventListener("pointercancel", end);
    gauge.addEventListener("click", (event) => {
      if (moved) event.stopPropagation();
    });
  }

  sendDragged() {
    if (!this.dragged || this.waiting) return;
    const { id, text } = this.dragged;
    this.dragged = null;
    this.edit(id, text);
  }

  // ---- talking to Python ----------------------------------------------------------------------------------------

  // The panels beside the tree wait until the page comes to rest: an edit must not queue behind those of the one before.
  send(message) {
    this.waiting += 1;
    this.paintState();
    clearTimeout(this.resting);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.giveUp(), ANSWER_WITHIN_MS);
    this.model.send({ ...message, moving: true });
  }

  // An edit without an answer is lost with its process only; one that lives is busy, and comes to it.
  async giveUp() {
    if (!(await this.isGone())) {
      this.timer = setTimeout(() => this.giveUp(), ANSWER_WITHIN_MS);
      return;
    }
    this.waiting = 0;
    this.lose();
  }

  // What the page says by itself; one of ours that is being left has given its kernel up, and nobody hears it.
  tell(message) {
    if (!window.workbenchLeft) this.model.send(message);
  }

  comeToRest() {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.tell({ type: "rest" }), REST_AFTER_MS);
  }

  edit(id, text) {
    if (this.rows.has(id)) delete this.rows.get(id).input.dataset.dirty;
    this.asked = id;
    this.unanswered.set(id, text);
    this.send({ type: "edit", id, text });
  }

  // ---- light and dark -------------------------------------------------------------------------------------------

  // In a page of ours the reader's last choice counts, then the system's, unless the address names a theme.
  takeTheme() {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const paint = () => {
      if (new URL(location.href).searchParams.has("theme")) return;
      this.paintTheme(localStorage.getItem("wb-theme") ?? (system.matches ? "dark" : "light"));
    };
    paint();
    system.addEventListener("change", () => {
      paint();
      this.nameTheme();
      this.sayReady(); // the frame of a proof takes no style of the page: Python draws it anew
    });
    this.theme = element("button", "wb-button wb-theme", "");
    this.theme.type = "button";
    this.theme.addEventListener("click", () => {
      const other = this.isDark() ? "light" : "dark";
      localStorage.setItem("wb-theme", other);
      this.paintTheme(other);
      this.nameTheme();
      this.sayReady();
    });
    this.resetAll.before(this.theme);
    this.nameTheme();
    this.raiseTheme();
  }

  // Beside the tabs, which stand on every tab of a narrow page too; the page around the tree may not be there yet.
  raiseTheme(tries = 0) {
    const tools = this.root.closest(".wb-app")?.querySelector(".wb-tab-tools");
    if (tools) tools.append(this.theme);
    else if (tries < 100) this.raising = setTimeout(() => this.raiseTheme(tries + 1), 30);
  }

  isDark() {
    return document.body.dataset.jpThemeLight === "false";
  }

  nameTheme() {
    this.theme.textContent = this.isDark() ? "Light" : "Dark";
    this.theme.title = `show this page ${this.isDark() ? "light" : "dark"}`;
  }

  paintTheme(theme) {
    document.body.dataset.jpThemeLight = theme === "light" ? "true" : "false";
    document.body.classList.toggle("wb-dark", theme === "dark");
  }

  sayReady() {
    this.tell({ type: "ready", dark: this.isDark(), rev: this.tree.rev });
  }

  // ---- a server that went away ----------------------------------------------------------------------------------

  ping() {
    if (document.hidden) {
      this.heard = this.answered = Date.now(); // timers of a hidden page run late
      return;
    }
    if (!this.lost) this.isGone().then((isGone) => isGone && !this.lost && this.lose());
    // It lives, as its own pulse says, and has not come to our question yet.
    this.root.classList.toggle("wb-busy", !this.lost && Date.now() - this.answered > LOST_AFTER_MS);
    this.tell({ type: "ping" });
  }

  get silence() {
    return Date.now() - this.heard;
  }

  // A page on a busy machine may come late to what was said: the server tells whether its kernel is there. One that is being
  // left gave its kernel up itself, and waits for the next page only.
  async isGone() {
    if (window.workbenchLeft) return this.silence > GONE_AFTER_MS;
    if (this.silence <= ASK_AFTER_MS) return false;
    this.kernel = await kernelState();
    return this.kernel === NO_KERNEL || this.silence > ({ "": LOST_AFTER_MS, idle: ANEW_AFTER_MS }[this.kernel] ?? GONE_AFTER_MS);
  }

  lose() {
    this.lost = true;
    const edits = this.unanswered.size;
    const kept = edits ? ` ${edits === 1 ? "One edit is" : `${edits} edits are`} kept and made again then.` : "";
    this.banner.textContent = this.kernel
      ? `The process behind this page has ended. Reload the page.${kept}`
      : `The workbench does not answer.${kept} Start the workbench again, and open the address that it prints.`;
    this.leaveOver();
    this.paintLost();
  }

  onHeard() {
    this.heard = Date.now();
    if (!this.lost) return;
    this.lost = false;
    this.paintLost();
    this.sendLeftOver();
  }

  paintLost() {
    this.banner.hidden = !this.lost;
    this.root.classList.toggle("wb-lost", this.lost);
    const app = this.root.closest(".wb-app");
    app?.classList.toggle("wb-lost-page", this.lost);
    if (app) app.dataset.lost = this.banner.textContent; // in sight wherever the tree stands
    for (const { input, undo } of this.rows.values()) input.disabled = undo.disabled = this.lost;
    this.paintState();
  }

  get shelf() {
    return `wb-unanswered:${this.model.get("run")}`;
  }

  leaveOver() {
    if (!this.model.get("run") || !this.unanswered.size) return;
    sessionStorage.setItem(this.shelf, JSON.stringify([...this.unanswered]));
  }

  // Edits that got no answer, of this page before it lost its server or of the page before a reload.
  sendLeftOver() {
    if (!this.model.get("run")) return;
    const stored = sessionStorage.getItem(this.shelf);
    if (stored === null) return;
    sessionStorage.removeItem(this.shelf);
    for (const [id, text] of JSON.parse(stored)) if (this.parents.has(id)) this.edit(id, text);
  }

  // The address reproduces the view; other names in it are left alone.
  showAddress() {
    if (!this.model.get("owns_address")) return;
    const address = new URL(location.href);
    for (const [name, value] of [
      ["run", this.model.get("run")],
      ["scenario", this.model.get("scenario")],
      ["node", this.model.get("selected")],
    ]) {
      if (value) address.searchParams.set(name, value);
    }
    history.replaceState(history.state, "", address);
  }

  onMessage(message) {
    this.onHeard();
    if (message.type === "alive") return;
    this.answered = this.heard;
    this.root.classList.remove("wb-busy");
    if (message.type === "rows") {
      Object.assign(this.tree.nodes, message.nodes);
      for (const id of Object.keys(message.nodes)) this.asked_rows.delete(id);
      this.renderRows();
      return;
    }
    if (message.type === "found") {
      this.onFound(message);
      return;
    }
    if (message.type === "shape") {
      this.say(message.line, false); // the rows came as a new tree
    } else if (message.type === "patch") {
      const tree = this.tree;
      tree.rev = message.rev;
      tree.edits = message.edits;
      for (const [id, changed] of Object.entries(message.nodes)) {
        Object.assign(tree.nodes[id], changed);
        if (this.rows.has(id)) this.paint(id);
      }
      if (this.rows.has(this.asked)) this.paint(this.asked); // what was typed, as Python spells it
      this.say(message.line, false);
    } else if (message.type === "refused") {
      if (this.rows.has(message.id)) this.paint(message.id, true);
      this.say(message.line, true);
    } else {
      return;
    }
    this.waiting = Math.max(0, this.waiting - 1);
    if (!this.waiting) {
      clearTimeout(this.timer);
      this.unanswered.clear();
    }
    this.root.dataset.rev = this.tree.rev;
    this.paintState();
    this.sendDragged();
    if (!this.waiting) this.comeToRest();
  }

  say(text, bad) {
    this.line.textContent = text;
    this.line.classList.toggle("wb-bad", bad);
  }

  // ---- painting -------------------------------------------------------------------------------------------------

  paint(id, restore = false) {
    const node = this.tree.nodes[id];
    const { row, statement, note, marks, fill, ghost, probability, was, input, undo } = this.rows.get(id);
    const known = node.p !== null;
    if (statement.textContent !== node.statement) statement.replaceChildren(...words(node.statement));
    statement.title = node.statement;
    // The first clause, so that nothing is cut; all of it is in the hover and in the evidence. The rule is behind "show the arithmetic".
    note.replaceChildren(...words((node.key_factor || node.note).split("; ")[0]));
    note.title = [node.note, node.key_factor].filter(Boolean).join("\n");
    marks.replaceChildren(...node.marks.map((mark) => this.mark(mark)));
    probability.textContent = node.text;
    probability.dataset.value = node.p ?? "";
    probability.title = node.kind === "root" ? "probability of the claim" : "probability of this driver";
    fill.style.width = `${known ? 100 * node.p : 0}%`;
    const differs = node.moved && node.base !== null;
    ghost.hidden = !differs;
    if (node.base !== null) ghost.style.left = `${100 * node.base}%`;
    was.textContent = differs ? node.base_text : "";
    was.title = differs ? `before your edits: ${node.base}` : "";
    row.dataset.edited = node.edited;
    row.dataset.moved = node.moved;
    row.dataset.stale = node.stale;
    row.dataset.inert = node.inert;
    row.setAttribute("aria-label", `${id}, ${node.text}, ${node.statement}`);
    if (restore || !(document.activeElement === input && input.dataset.dirty)) {
      input.value = node.value;
      delete input.dataset.dirty;
    }
    const label = node.kind === "leaf" ? `reset ${id}` : `unpin ${id}`;
    undo.setAttribute("aria-label", label);
    undo.title = `${label}: back to ${node.base_text}`;
    undo.style.visibility = node.edited ? "visible" : "hidden";
    undo.tabIndex = node.edited ? 0 : -1;
  }

  mark({ name, why }) {
    const made = element("span", "wb-mark", name);
    made.dataset.mark = name;
    made.title = why;
    return made;
  }

  get total() {
    const { order, nodes } = this.tree;
    const begun = nodes[order[0]]?.base !== null; // the run has its answer, so every driver has what it rests on
    const leaves = this.leaves.toLocaleString("en");
    const count = order.length - 1;
    if (!count) return "The claim alone";
    return `${count.toLocaleString("en")} driver${count === 1 ? "" : "s"}${begun ? `, ${leaves} with evidence` : ""}`;
  }

  paintState() {
    if (this.found === null) this.count.textContent = this.total;
    this.resetAll.disabled = !this.tree.edits;
    this.root.classList.toggle("wb-waiting", this.waiting > 0);
    this.list.setAttribute("aria-busy", this.waiting > 0);
    this.root.dataset.rev = this.tree.rev;
  }

  paintSelection() {
    const selected = this.model.get("selected");
    for (const [id, { row }] of this.rows) row.setAttribute("aria-selected", id === selected);
    this.rove(this.parents.has(selected) ? selected : this.focusId);
  }

  // ---- folding, selecting, keys ---------------------------------------------------------------------------------

  fold(closed) {
    this.collapsed.clear();
    for (const id of this.tree.order) if (this.kids.get(id).length && closed(id)) this.collapsed.add(id);
    this.showFolds();
  }

  toggle(id, closed = !this.collapsed.has(id)) {
    if (closed) this.collapsed.add(id);
    else this.collapsed.delete(id);
    this.showFolds();
  }

  showFolds() {
    const hidden = new Set();
    const path = new Set(this.zoomed === null ? [] : [...this.above(this.zoomed), this.zoomed]);
    this.seen = this.tree.order.filter((id) => {
      const parent = this.parents.get(id);
      if (this.zoomed !== null && !path.has(id) && !id.startsWith(`${this.zoomed}.`)) return false;
      if (parent !== null && !path.has(id) && (hidden.has(parent) || this.isFolded(parent))) hidden.add(id);
      return !hidden.has(id) && (this.found === null || this.found.has(id));
    });
    this.places = new Map(this.seen.map((id, place) => [id, place]));
    if (!this.places.has(this.focusId)) this.focusId = this.seen[0] ?? null;
    this.count.textContent = this.found === null ? this.total : `${this.hits.toLocaleString("en")} found of ${this.total}`;
    this.paintPath();
    this.renderRows();
    for (const id of this.rows.keys()) this.paintFold(id);
  }

  select(id) {
    if (this.model.get("selected") === id) return;
    this.model.set("selected", id);
    this.model.save_changes();
  }

  // One row at a time is in the tab order (the roving tabindex of the ARIA tree pattern): the one that had the focus last,
  // or the first in sight while that one is scrolled away.
  rove(id) {
    if (id !== null && this.parents.has(id)) this.focusId = id;
    const stop = this.rows.has(this.focusId) ? this.focusId : this.rows.keys().next().value;
    for (const [each, { row }] of this.rows) row.tabIndex = each === stop ? 0 : -1;
  }

  go(id) {
    if (!id) return;
    this.reveal(id);
    this.rows.get(id)?.row.focus({ preventScroll: this.seen.length > IN_PAGE_UP_TO });
    this.select(id);
  }

  onKey(event) {
    const row = event.target;
    if (row.getAttribute("role") !== "treeitem" || event.ctrlKey || event.metaKey || event.altKey) return;
    const id = row.dataset.id;
    const { nodes } = this.tree;
    const { seen } = this;
    const place = this.places.get(id);
    const open = this.kids.get(id).length && !this.isFolded(id);
    const acts = {
      ArrowDown: () => this.go(seen[place + 1]),
      ArrowUp: () => this.go(seen[place - 1]),
      Home: () => this.go(seen[0]),
      End: () => this.go(seen[seen.length - 1]),
      PageDown: () => this.go(seen[Math.min(seen.length - 1, place + 10)]),
      PageUp: () => this.go(seen[Math.max(0, place - 10)]),
      ArrowRight: () => (open ? this.go(this.kids.get(id)[0]) : this.toggle(id, false)),
      ArrowLeft: () => (open ? this.toggle(id, true) : this.go(this.parents.get(id))),
      Enter: () => this.rows.get(id).input.focus(),
      F2: () => this.rows.get(id).input.focus(),
      " ": () => this.select(id),
      Delete: () => nodes[id].edited && this.send({ type: "reset", id }),
    };
    if (!acts[event.key]) return;
    acts[event.key]();
    event.preventDefault();
    event.stopPropagation(); // JupyterLab moves between cells on the same keys
  }

  // A page of ours is this tree's as a whole; in a notebook what stands around the tree is.
  isIn(event) {
    const part = this.root.closest(".wb-app") ?? this.root;
    return this.model.get("owns_address") || event.composedPath().includes(part);
  }

  onUse(event) {
    // JupyterLab hands the focus to the cell around what was clicked, which is no use of anything else.
    const around = event.type === "focusin" && event.target.contains(this.root);
    if (this.isIn(event)) undo.tree = this;
    else if (undo.tree === this && !around) undo.tree = null;
  }

  onUndoKey(event) {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || !["z", "y"].includes(letter(event))) return;
    const field = event.composedPath()[0];
    if (undo.tree !== this || !this.root.isConnected || isFreeText(field)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (field.dataset?.dirty) this.restore(field); // typed and not sent: the typing alone is taken back
    else if (!this.lost) this.send({ type: letter(event) === "y" || event.shiftKey ? "redo" : "undo" });
  }

  // Show in a number field what its proposition has, whatever was typed or the browser put there.
  restore(input) {
    input.value = this.tree.nodes[input.closest(".wb-row").dataset.id].value;
    delete input.dataset.dirty;
  }

  onInputKey(event, id, input) {
    if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
    if (event.key === "Escape") {
      this.restore(input);
      this.rows.get(id).row.focus();
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      const now = Number(input.value);
      if (input.value.trim() === "" || !Number.isFinite(now)) return;
      event.preventDefault();
      const step = (event.shiftKey ? 10 * STEP : STEP) * (event.key === "ArrowUp" ? 1 : -1);
      input.value = String(Number(Math.min(1, Math.max(0, now + step)).toFixed(4)));
      this.edit(id, input.value);
    }
  }
}

function render({ model, el }) {
  const view = new TreeView(model, el);
  return () => view.destroy();
}

export default { render };
