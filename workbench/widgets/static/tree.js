// The proposition tree. Python owns every number: edits go up as messages, changed rows come back as patches.
// All text reaches the page through textContent, so nothing a model wrote is ever read as markup.

const EXPANDED_UP_TO = 50; // larger trees open with the root and its children only
const STEP = 0.01;
const ANSWER_WITHIN_MS = 15000;

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

class TreeView {
  constructor(model, el) {
    this.model = model;
    this.rows = new Map();
    this.collapsed = new Set();
    this.focusId = null;
    this.waiting = 0;
    this.root = element("div", "wb-tree");
    this.bar = this.toolbar();
    this.list = element("div", "wb-rows");
    this.list.setAttribute("role", "tree");
    this.list.setAttribute("aria-label", "Proposition tree");
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    this.line = element("div", "wb-line");
    this.line.setAttribute("role", "status");
    this.line.setAttribute("aria-live", "polite");
    this.root.append(this.bar, this.list, this.line);
    el.append(this.root);

    this.handlers = {
      "change:tree": () => this.build(),
      "change:selected": () => this.paintSelection(),
      "msg:custom": (message) => this.onMessage(message),
    };
    for (const [name, handler] of Object.entries(this.handlers)) model.on(name, handler);
    this.build();
    model.send({ type: "ready", dark: document.body.dataset.jpThemeLight === "false" });
  }

  destroy() {
    clearTimeout(this.timer);
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
    bar.append(
      this.count,
      button("Expand all", () => this.fold(() => false)),
      button("Collapse", () => this.fold((node) => node.level > 0)),
      this.resetAll,
    );
    return bar;
  }

  build() {
    const { order, nodes } = this.tree;
    this.rows.clear();
    this.collapsed.clear();
    if (order.length > EXPANDED_UP_TO) {
      for (const id of order) if (nodes[id].level > 0 && nodes[id].children.length) this.collapsed.add(id);
    }
    this.list.classList.toggle("wb-many", order.length > 200);
    this.list.replaceChildren(...order.map((id) => this.row(nodes[id])));
    this.focusId = order[0] ?? null;
    for (const id of order) this.paint(id);
    const leaves = order.filter((id) => !nodes[id].children.length).length;
    this.count.textContent = `${order.length} propositions, ${leaves} leaves`;
    this.showFolds();
    this.paintSelection();
    this.paintState();
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
      sign.title = positive ? "speaks for the proposition above" : "speaks against the proposition above";
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
    input.setAttribute("aria-label", `probability of ${node.id}`);
    input.title = "a probability from 0 to 1; arrow keys step by 0.01";

    const undo = element("button", "wb-undo");
    undo.type = "button";
    undo.append(icon(UNDO));

    row.append(twisty, head, words, gauge, figures, input, undo);
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
    input.addEventListener("input", () => (input.dataset.dirty = "1"));
    input.addEventListener("change", () => this.edit(id, input.value));
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

  send(message) {
    this.waiting += 1;
    this.paintState();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.waiting = 0;
      this.say("No answer from the kernel. Reload the page to go on.", true);
      this.paintState();
    }, ANSWER_WITHIN_MS);
    this.model.send(message);
  }

  edit(id, text) {
    delete this.rows.get(id).input.dataset.dirty;
    this.asked = id;
    this.send({ type: "edit", id, text });
  }

  onMessage(message) {
    if (message.type === "patch") {
      const tree = this.tree;
      tree.rev = message.rev;
      tree.edits = message.edits;
      for (const node of message.nodes) {
        tree.nodes[node.id] = node;
        this.paint(node.id);
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
    if (!this.waiting) clearTimeout(this.timer);
    this.root.dataset.rev = this.tree.rev;
    this.paintState();
    this.sendDragged();
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
    note.textContent = node.note;
    note.title = [node.note, node.key_factor].filter(Boolean).join("\n");
    marks.replaceChildren(...node.marks.map((mark) => this.mark(mark)));
    probability.textContent = node.text;
    fill.style.width = `${known ? 100 * node.p : 0}%`;
    const differs = node.moved && node.base !== null;
    ghost.hidden = !differs;
    if (node.base !== null) ghost.style.left = `${100 * node.base}%`;
    was.textContent = differs ? node.base_text : "";
    was.title = differs ? "before your edits" : "";
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

  paintState() {
    this.resetAll.disabled = !this.tree.edits;
    this.root.classList.toggle("wb-waiting", this.waiting > 0);
    this.list.setAttribute("aria-busy", this.waiting > 0);
    this.root.dataset.rev = this.tree.rev;
  }

  paintSelection() {
    const selected = this.model.get("selected");
    for (const [id, { row }] of this.rows) row.setAttribute("aria-selected", id === selected);
    this.rove(this.rows.has(selected) ? selected : this.focusId);
  }

  // ---- folding, selecting, keys ---------------------------------------------------------------------------------

  fold(closed) {
    this.collapsed.clear();
    for (const id of this.tree.order) {
      const node = this.tree.nodes[id];
      if (node.children.length && closed(node)) this.collapsed.add(id);
    }
    this.showFolds();
  }

  toggle(id, closed = !this.collapsed.has(id)) {
    if (closed) this.collapsed.add(id);
    else this.collapsed.delete(id);
    this.showFolds();
  }

  showFolds() {
    const { order, nodes } = this.tree;
    const hidden = new Set();
    for (const id of order) {
      const { row, twisty } = this.rows.get(id);
      const { parent, children } = nodes[id];
      if (parent !== null && (hidden.has(parent) || this.collapsed.has(parent))) hidden.add(id);
      row.hidden = hidden.has(id);
      if (children.length) {
        const open = !this.collapsed.has(id);
        row.setAttribute("aria-expanded", open);
        twisty.dataset.open = open;
      }
    }
    if (hidden.has(this.focusId)) this.rove(order[0]);
  }

  select(id) {
    if (this.model.get("selected") === id) return;
    this.model.set("selected", id);
    this.model.save_changes();
  }

  // One row at a time is in the tab order (the roving tabindex of the ARIA tree pattern).
  rove(id) {
    if (id === null || !this.rows.has(id)) return;
    if (this.rows.has(this.focusId)) this.rows.get(this.focusId).row.tabIndex = -1;
    this.focusId = id;
    this.rows.get(id).row.tabIndex = 0;
  }

  go(id) {
    if (!id) return;
    this.rows.get(id).row.focus();
    this.select(id);
  }

  onKey(event) {
    const row = event.target;
    if (row.getAttribute("role") !== "treeitem" || event.ctrlKey || event.metaKey || event.altKey) return;
    const id = row.dataset.id;
    const { nodes, order } = this.tree;
    const seen = order.filter((each) => !this.rows.get(each).row.hidden);
    const place = seen.indexOf(id);
    const open = nodes[id].children.length && !this.collapsed.has(id);
    const acts = {
      ArrowDown: () => this.go(seen[place + 1]),
      ArrowUp: () => this.go(seen[place - 1]),
      Home: () => this.go(seen[0]),
      End: () => this.go(seen[seen.length - 1]),
      ArrowRight: () => (open ? this.go(nodes[id].children[0]) : this.toggle(id, false)),
      ArrowLeft: () => (open ? this.toggle(id, true) : this.go(nodes[id].parent)),
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

  onInputKey(event, id, input) {
    event.stopPropagation();
    if (event.key === "Escape") {
      input.value = this.tree.nodes[id].value;
      delete input.dataset.dirty;
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
