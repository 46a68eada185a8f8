// What every page of ours has: a table copied or saved as CSV with all digits, the list of keys, the list of commands, folds that a
// keyboard opens. It is put
// before the module of a page's widget, as an anywidget module imports nothing of ours.

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function isWriting(place) {
  return place.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(place.nodeName);
}

// A dialog over the page: the keys, the commands, a line to copy by hand.
class Overlay {
  constructor() {
    this.root = element("dialog", "wb-overlay");
    this.root.addEventListener("click", (event) => event.target === this.root && this.root.close());
  }

  get isOpen() {
    return this.root.open;
  }

  show(title, ...parts) {
    const close = element("button", "wb-button", "Close");
    close.type = "button";
    close.addEventListener("click", () => this.root.close());
    const head = element("div", "wb-overlay-head");
    head.append(element("h2", "", title), close);
    this.root.setAttribute("aria-label", title);
    this.root.replaceChildren(head, ...parts);
    if (!this.root.open) this.root.showModal();
  }

  showKeys(keys) {
    const table = element("table", "wb-keys");
    for (const [key, does] of keys) {
      const row = element("tr");
      row.append(element("th", "", key), element("td", "", does));
      table.append(row);
    }
    this.show("Keyboard shortcuts", table);
  }

  // Commands are pairs of words and what to do; typing narrows them, Enter does the first.
  showCommands(commands) {
    const words = element("input", "wb-search");
    words.type = "search";
    words.placeholder = "what to do";
    words.setAttribute("aria-label", "command");
    const list = element("div", "wb-commands");
    const draw = () => {
      const asked = words.value.trim().toLowerCase();
      const wanted = commands.filter(([label]) => label.toLowerCase().includes(asked));
      list.replaceChildren(
        ...wanted.map(([label, act]) => {
          const made = element("button", "wb-command-row", label);
          made.type = "button";
          made.addEventListener("click", () => {
            this.root.close();
            act();
          });
          return made;
        }),
      );
    };
    words.addEventListener("input", draw);
    words.addEventListener("keydown", (event) => {
      if (event.key === "Enter") list.querySelector("button")?.click();
    });
    draw();
    this.show("Commands", words, list);
    words.focus();
  }
}

// Of each run when its page was last opened in this browser: the home page counts a change of a claim from there.
const LOOKED = "wb-looked";

function storedMap(name) {
  try {
    return JSON.parse(localStorage.getItem(name)) ?? {};
  } catch {
    return {};
  }
}

const shownRun = new URL(location.href).searchParams.get("run");
if (shownRun) localStorage.setItem(LOOKED, JSON.stringify({ ...storedMap(LOOKED), [shownRun]: Date.now() }));

const TABLES = "table.wb-table";

// What a table is called: its caption, else the heading of its pane.
function tableName(table) {
  const pane = table.closest(".wb-pane, .wb-claims, .wb-overlay");
  const words = table.caption?.textContent || table.getAttribute("aria-label") || pane?.querySelector("h2")?.textContent || "table";
  return words.trim().split(/[:,;]/)[0];
}

function cellText(cell) {
  const exact = cell.dataset.value ?? cell.querySelector("[data-value]")?.dataset.value;
  if (exact) return exact;
  const picture = cell.querySelector("svg[aria-label]");
  const words = picture ? picture.getAttribute("aria-label") : cell.innerText;
  const text = words.replace(/\s+/g, " ").trim();
  return /^\u2212[\d.]/.test(text) ? `-${text.slice(1)}` : text;
}

function tableRows(table) {
  return [...table.rows].map((row) => [...row.cells].map(cellText));
}

// A spreadsheet runs what begins like a formula: such a text gets a quote before it, and a number stays one.
function harmless(text) {
  return /^[=+\-@\t\r]/.test(text) && !/^[+-]?[\d.,]+( ?(%|points))?$/.test(text) ? `'${text}` : text;
}

function tableAsCsv(rows) {
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return rows.map((row) => row.map((cell) => quoted(harmless(cell))).join(",")).join("\r\n") + "\r\n";
}

async function copyTable(table) {
  const text = tableRows(table).map((row) => row.map(harmless).join("\t")).join("\n");
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // A page without the browser's leave: the reader copies what is marked.
    getSelection().selectAllChildren(table);
    return false;
  }
}

function saveTable(table) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([tableAsCsv(tableRows(table))], { type: "text/csv" }));
  link.download = `${tableName(table).toLowerCase().replace(/[^a-z0-9]+/g, "-")}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// Every table in sight, for the list of commands: that is how a keyboard reaches it.
function tableCommands(app) {
  return [...app.querySelectorAll(TABLES)]
    .filter((table) => table.rows.length > 1 && table.offsetParent)
    .flatMap((table) => [
      [`Copy table: ${tableName(table)}`, () => copyTable(table)],
      [`Save as CSV: ${tableName(table)}`, () => saveTable(table)],
    ]);
}

// ipywidgets' folds hear the mouse alone: their heads become buttons that Tab reaches, and Enter and the space bar press.
function reachFolds(place) {
  for (const head of place.querySelectorAll(".wb-fold .jupyter-widget-Collapse-header:not([tabindex])")) {
    const fold = head.closest(".jupyter-widget-Collapse");
    const say = () => head.setAttribute("aria-expanded", fold.classList.contains("jupyter-widget-Collapse-open"));
    head.tabIndex = 0;
    head.setAttribute("role", "button");
    head.addEventListener("keydown", (event) => {
      if (event.target !== head || !["Enter", " "].includes(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      head.click();
    });
    new MutationObserver(say).observe(fold, { attributes: true, attributeFilter: ["class"] });
    say();
  }
}

// A button that has done its work may be disabled, hidden or gone: the focus then goes to the pane around it, not to the page's
// beginning.
function keepFocus() {
  let last = null;
  let around = null;
  let looking = 0;
  document.addEventListener("focusin", (event) => {
    last = event.target;
    around = last.closest(".wb-app") && last.closest(".wb-pane, .wb-tab-panel, .wb-app");
  });
  document.addEventListener("pointerdown", () => (around = null)); // whoever clicks beside things means to
  const isLost = () => {
    if (document.activeElement === last) return last.disabled;
    return document.activeElement === document.body && !(last.isConnected && !last.disabled && last.offsetParent);
  };
  const look = () => {
    looking = 0;
    if (!around?.isConnected || !isLost()) return;
    const place = around.offsetParent ? around : around.closest(".wb-app");
    place.tabIndex = -1;
    place.focus({ preventScroll: true });
  };
  new MutationObserver(() => around && (looking ||= requestAnimationFrame(look))).observe(document.body, {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ["disabled", "hidden"],
  });
}

// One listener serves every table that is there or comes later.
function offerTables() {
  if (window.workbenchTables) return;
  window.workbenchTables = true;
  const bar = element("div", "wb-table-bar");
  bar.hidden = true;
  let table = null;
  const tool = (label, title, act) => {
    const made = element("button", "wb-button", label);
    made.type = "button";
    made.title = title;
    made.addEventListener("click", async () => {
      const done = await act(table);
      made.textContent = done === false ? "Marked: Ctrl-C" : done ? "Copied" : label;
      setTimeout(() => (made.textContent = label), 2000);
    });
    bar.append(made);
  };
  tool("Copy", "copy this table for a spreadsheet, with all digits", copyTable);
  tool("CSV", "save this table as a CSV file, with all digits", (which) => void saveTable(which));
  const show = (event) => {
    if (bar.contains(event.target)) return;
    const over = event.target.closest?.(TABLES);
    if (!over || over.rows.length < 2 || !over.closest(".wb-app")) {
      bar.hidden = true;
      return;
    }
    table = over;
    const place = table.getBoundingClientRect();
    // Its parent is the page's: what a panel draws anew would take a bar inside it away.
    const app = table.closest(".wb-app");
    if (bar.parentNode !== app) app.append(bar);
    const frame = app.getBoundingClientRect();
    bar.style.top = `${place.top - frame.top - 26}px`;
    bar.style.right = `${frame.right - place.right}px`;
    bar.hidden = false;
  };
  document.addEventListener("mouseover", show);
  document.addEventListener("focusin", show);
  // Only what is new is looked through: a notebook around our cells changes all the time.
  const holdsFold = (node) =>
    node.nodeType === Node.ELEMENT_NODE &&
    (node.matches(".jupyter-widget-Collapse-header") || node.querySelector(".jupyter-widget-Collapse-header"));
  new MutationObserver((changes) => {
    if (!changes.some((each) => [...each.addedNodes].some(holdsFold))) return;
    reachFolds(document);
    setTimeout(() => reachFolds(document), 500); // ipywidgets may give a fold its class only after it stands
  }).observe(document.body, { childList: true, subtree: true });
  reachFolds(document);
  keepFocus();
}
