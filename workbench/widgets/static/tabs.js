// The tabs of a run's page, and what the page can do as a whole: copy its address or its citation, its keys, its commands.
// Which tab is open is the browser's alone: the page's panes carry a class each, and CSS shows those of the open tab, so
// that a change of tabs waits for no kernel.

const KEYS = [
  ["1 to 5", "open a tab; once more: go into it"],
  ["Enter", "edit the selected driver; Escape leaves the field"],
  ["arrows", "move in the tree"],
  ["Ctrl-Z, Ctrl-Shift-Z", "undo, redo"],
  ["/", "search the drivers"],
  ["c", "copy a citation"],
  ["l", "copy the address of this view"],
  ["Ctrl-K", "commands; also copies any table, or saves it as CSV"],
  ["?", "this list"],
];

class Tabs {
  constructor(model, el) {
    this.model = model;
    this.id = `wb-tabs-${Math.random().toString(36).slice(2)}`;
    this.root = element("div", "wb-tabs");
    this.list = element("div", "wb-tab-list");
    this.list.setAttribute("role", "tablist");
    this.list.setAttribute("aria-label", "Parts of this run");
    this.buttons = new Map();
    for (const [name, label] of model.get("tabs")) {
      const tab = element("button", "wb-tab", label);
      tab.type = "button";
      tab.id = `${this.id}-${name}`;
      tab.setAttribute("role", "tab");
      tab.addEventListener("click", () => this.open(name));
      this.buttons.set(name, tab);
      this.list.append(tab);
    }
    this.list.addEventListener("keydown", (event) => this.onArrow(event));
    const tools = element("div", "wb-tab-tools");
    const tool = (label, title, act) => {
      const made = element("button", "wb-button", label);
      made.type = "button";
      made.title = title;
      made.addEventListener("click", act);
      tools.append(made);
    };
    if (model.get("owns_address")) tool("Copy link", "the address of this view (l)", () => this.copyLink());
    tool("Cite", "copy this answer as a line to quote (c)", () => this.copyCitation());
    if (model.get("owns_address")) tool("Shortcuts", "what the keyboard does (?)", () => this.overlay.showKeys(KEYS));
    this.said = element("span", "wb-tab-said");
    this.said.setAttribute("role", "status");
    tools.prepend(this.said);
    this.root.append(this.list, tools);
    this.overlay = new Overlay();
    this.root.append(this.overlay.root);
    el.append(this.root);
    this.handlers = { keydown: (event) => this.onKey(event), click: (event) => this.onClick(event) };
    for (const [name, handler] of Object.entries(this.handlers)) window.addEventListener(name, handler);
    this.follow = () => this.model.get("tab") && this.open(this.model.get("tab"));
    model.on("change:tab", this.follow);
    // The page around it may not be there yet; once it is, its panes come and go.
    this.waiting = new MutationObserver(() => this.namePanes());
    requestAnimationFrame(() => this.begin());
  }

  destroy() {
    for (const [name, handler] of Object.entries(this.handlers)) window.removeEventListener(name, handler);
    this.model.off("change:tab", this.follow);
    this.waiting.disconnect();
  }

  get app() {
    return this.root.closest(".wb-app");
  }

  begin() {
    if (!this.app) {
      if (this.root.isConnected || !this.tries) setTimeout(() => this.begin(), 30);
      this.tries = (this.tries ?? 0) + 1;
      return;
    }
    const asked = this.model.get("owns_address") ? new URL(location.href).searchParams : new URLSearchParams();
    const node = asked.get("node");
    const first = this.buttons.has(asked.get("tab")) ? asked.get("tab") : node && node !== "P0" ? "evidence" : "answer";
    this.open(first, false);
    this.waiting.observe(this.app, { childList: true, subtree: true });
  }

  open(name, tell = true) {
    if (!this.app) return;
    this.name = name;
    this.app.dataset.tab = name;
    for (const [each, tab] of this.buttons) {
      tab.setAttribute("aria-selected", each === name);
      tab.tabIndex = each === name ? 0 : -1;
    }
    this.namePanes();
    if (tell && this.model.get("owns_address")) {
      const address = new URL(location.href);
      address.searchParams.set("tab", name);
      history.replaceState(history.state, "", address);
    }
    window.dispatchEvent(new Event("resize")); // plots and frames that were laid out unseen
  }

  // The focus stays where it is, in the tree for instance, until the key of the open tab is pressed once more.
  goTo(name) {
    if (this.name !== name) {
      this.open(name);
      return;
    }
    let pane = this.app.querySelector(`.wb-tab-${name}`);
    // On a narrow page a pane may have no box of its own, and cannot have the focus.
    if (getComputedStyle(pane).display === "contents") pane = pane.querySelector(".wb-panel");
    pane.tabIndex = -1;
    pane.focus();
  }

  namePanes() {
    if (!this.app) return;
    for (const [name, tab] of this.buttons) {
      const pane = this.app.querySelector(`.wb-tab-${name}`);
      if (!pane || pane.id) continue;
      pane.id = `${tab.id}-panel`;
      pane.setAttribute("role", "tabpanel");
      pane.setAttribute("aria-labelledby", tab.id);
      tab.setAttribute("aria-controls", pane.id);
    }
  }

  onArrow(event) {
    const names = [...this.buttons.keys()];
    const at = names.indexOf(this.name);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const name = names[(to + names.length) % names.length];
    this.open(name);
    this.buttons.get(name).focus();
  }

  // The page of a server is ours as a whole; in a notebook the keys are JupyterLab's.
  onKey(event) {
    if (!this.app || !this.model.get("owns_address")) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      this.showCommands();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target) || this.overlay.isOpen) return;
    const names = [...this.buttons.keys()];
    const acts = {
      "?": () => this.overlay.showKeys(KEYS),
      "/": () => this.app.querySelector(".wb-search")?.focus(),
      c: () => this.copyCitation(),
      l: () => this.copyLink(),
    };
    const act = acts[event.key] ?? (names[Number(event.key) - 1] && (() => this.goTo(names[Number(event.key) - 1])));
    if (!act) return;
    event.preventDefault();
    act();
  }

  // From the answer a click on a driver leads to its evidence; elsewhere the open tab follows the driver.
  onClick(event) {
    if (!this.app?.contains(event.target)) return;
    const verb = event.target.closest("[data-go]");
    if (verb) {
      this.open(verb.dataset.go);
      this.toTop();
      if (verb.dataset.go === "drivers") this.app.querySelector('.wb-row:not([data-kind="root"]) .wb-input')?.focus();
      return;
    }
    const row = event.target.closest(".wb-row");
    const chosen = event.target.closest("[data-select]") ?? (row && !event.target.closest("button, input, .wb-gauge") ? row : null);
    if (!chosen || !["answer", "evidence"].includes(this.name)) return;
    this.open("evidence");
    this.toTop();
  }

  // The tab that was opened from further down the page begins below its bar.
  toTop() {
    if (this.root.getBoundingClientRect().top < 0) this.root.scrollIntoView();
  }

  copyLink() {
    this.copy(location.href.replace(/([?&])token=[^&]*&?/, "$1").replace(/[?&]$/, ""), "Link copied");
  }

  copyCitation() {
    this.copy(this.model.get("citation"), "Citation copied");
  }

  async copy(text, done) {
    try {
      await navigator.clipboard.writeText(text);
      this.say(done);
    } catch {
      // Without the browser's leave a line to copy by hand is what is left.
      this.overlay.show("Copy this", element("p", "wb-copy", text));
    }
  }

  say(text) {
    this.said.textContent = text;
    clearTimeout(this.saying);
    this.saying = setTimeout(() => (this.said.textContent = ""), 4000);
  }

  showCommands() {
    const commands = [
      ...[...this.buttons].map(([name, tab]) => [`Open ${tab.textContent}`, () => this.open(name)]),
      ["Copy citation", () => this.copyCitation()],
      ...(this.model.get("owns_address")
        ? [["Copy link", () => this.copyLink()], ["All claims", () => (location.href = "?run=")]]
        : []),
      ...tableCommands(this.app),
      // Every button of the page that can be pressed now, by its words.
      ...[...this.app.querySelectorAll("button.wb-action, .wb-bar button.wb-button, .wb-tab-tools .wb-theme")]
        .filter((button) => !button.disabled && button.textContent.trim())
        .map((button) => [button.textContent.trim(), () => (this.reveal(button), button.click())]),
    ];
    this.overlay.showCommands(commands);
  }

  reveal(place) {
    for (const name of this.buttons.keys()) if (place.closest(`.wb-tab-${name}`)) this.open(name);
  }
}

function render({ model, el }) {
  offerTables();
  const tabs = new Tabs(model, el);
  return () => tabs.destroy();
}

export default { render };
