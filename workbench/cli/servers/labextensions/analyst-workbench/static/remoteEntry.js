// Cards in JupyterLab's launcher: state a claim, open the newest run, compare its scenarios, the tutorial. A card about a run
// opens a notebook that is run already and named after the claim.
//
// Written as JupyterLab's loader wants it (a container of module federation), so that it needs no bundler: `init` gets the
// modules that JupyterLab shares, `get` gives back the plugin.
(() => {
  "use strict";
  const FOLDER = "notebooks";
  const TUTORIAL = `${FOLDER}/tutorial.ipynb`;
  const ICON =
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#1d4f7c" stroke-width="1.8">' +
    '<circle cx="12" cy="5" r="2.4"/><circle cx="5" cy="18" r="2.4"/><circle cx="12" cy="18" r="2.4"/>' +
    '<circle cx="19" cy="18" r="2.4"/><path d="M12 7.4v8.2M10.6 7l-4.3 8.9M13.4 7l4.3 8.9"/></svg>';
  const CLAIM = [
    ["markdown", "# A claim\n\nState what will turn out true or false, with a date, below the first line; nothing known later than the cutoff is used.\n`--plan-only` stops after the tree; `--model NAME` asks a language model, without it the key-free analyst works."],
    ["code", "%load_ext workbench"],
    ["code", "%%proposition --cutoff 2018-06-30\nThe S&P 500 closes higher on 2018-12-31 than on 2018-06-29"],
    ["markdown", "Edits in the tree are kept as the scenario `draft`. `%whatif P1=30%` computes one line, `%proof P1` opens a leaf's notebook."],
    ["code", "analysis.explorer()"],
    ["code", "%whatif P1=30%"],
    ["code", "%proof P1"],
    ["code", "analysis.export_view()"],
  ];
  const NEWEST = [
    ["markdown", "# The newest run\n\n`wb.runs()` lists all; `wb.open_run(\"ID\")` opens any of them. This notebook runs in Python 3, which has your files; the kernel Analyst is sealed and reads data of before a cutoff only: choose it to write evidence of your own."],
    ["code", "import workbench as wb\n\nanalysis = wb.open_run(\"last\")\nanalysis.dashboard()"],
  ];
  const SCENARIOS = [
    ["markdown", "# Scenarios of the newest run\n\nEdit in the tree, name the edits below it, weigh and compare them. `wb.open_run(\"ID\")` opens another run."],
    ["code", "import workbench as wb\n\nanalysis = wb.open_run(\"last\")\nanalysis.explorer()"],
    ["code", "analysis.scenario_view()"],
    ["code", "analysis.driver_view()"],
    ["code", "analysis.export_view()"],
  ];
  let shared = {};

  async function load(name) {
    const versions = Object.values(shared[name] || {});
    if (!versions.length) throw new Error(`JupyterLab shares no ${name}`);
    return (await versions[0].get())();
  }

  function notebook(cells) {
    return {
      cells: cells.map(([kind, source], number) => ({
        cell_type: kind,
        id: `cell-${number}`,
        metadata: {},
        source,
        ...(kind === "code" ? { execution_count: null, outputs: [] } : {}),
      })),
      metadata: { kernelspec: { name: "python3", display_name: "Python 3 (ipykernel)", language: "python" } },
      nbformat: 4,
      nbformat_minor: 5,
    };
  }

  async function plugin() {
    const [{ ILauncher }, { LabIcon }] = await Promise.all([load("@jupyterlab/launcher"), load("@jupyterlab/ui-components")]);
    const icon = new LabIcon({ name: "analyst-workbench:tree", svgstr: ICON });
    return {
      id: "analyst-workbench:launcher",
      autoStart: true,
      requires: [ILauncher],
      activate(app, launcher) {
        const { contents } = app.serviceManager;

        async function create(cells, cwd) {
          const file = await contents.newUntitled({ path: cwd ?? FOLDER, type: "notebook" });
          await contents.save(file.path, { type: "notebook", format: "json", content: notebook(cells) });
          return app.commands.execute("docmanager:open", { path: file.path, factory: "Notebook", kernel: { name: "python3" } });
        }

        // What the kernel says the notebook is about, once its cells have run; empty without a run.
        async function claimOf(kernel) {
          const asked = kernel.requestExecute({ code: "", silent: true, user_expressions: { claim: "analysis.run.state.statement" } });
          const { content } = await asked.done;
          const text = content.user_expressions?.claim?.data?.["text/plain"] ?? "";
          return text.replace(/[^\p{L}\p{N} .&-]+/gu, " ").replace(/\s+/g, " ").trim().slice(0, 80).replace(/[ .]+$/, "");
        }

        async function createAndRun(cells, cwd) {
          const shown = await create(cells, cwd);
          await shown.context.ready;
          await shown.sessionContext.ready;
          await shown.sessionContext.session.kernel.info;
          app.shell.activateById(shown.id);
          await app.commands.execute("notebook:run-all-cells");
          const name = await claimOf(shown.sessionContext.session.kernel);
          if (!name) return;
          const folder = shown.context.path.split("/").slice(0, -1).join("/");
          const names = new Set((await contents.get(folder, { content: true })).content.map((each) => each.name));
          let free = `${name}.ipynb`;
          for (let number = 2; names.has(free); number += 1) free = `${name} ${number}.ipynb`;
          await shown.context.save();
          await shown.context.rename(free);
        }

        const cards = [
          ["analyst-workbench:claim", "State a claim", "A new notebook with a claim, its tree and its proofs", ({ cwd }) => create(CLAIM, cwd)],
          ["analyst-workbench:newest", "Newest run", "A notebook with the dashboard of the newest run, already run", ({ cwd }) => createAndRun(NEWEST, cwd)],
          ["analyst-workbench:scenarios", "Scenarios", "The newest run's tree, scenarios, drivers and note, already run", ({ cwd }) => createAndRun(SCENARIOS, cwd)],
          ["analyst-workbench:tutorial", "Tutorial", "A claim, taken apart", () => app.commands.execute("docmanager:open", { path: TUTORIAL })],
        ];
        cards.forEach(([command, label, caption, execute], rank) => {
          app.commands.addCommand(command, { label, caption, icon, execute });
          // Among the notebooks, which stand first; other categories come below the fold. Cards there take their icon by address.
          launcher.add({ command, category: "Notebook", rank: rank - 10, kernelIconUrl: `data:image/svg+xml,${encodeURIComponent(ICON)}` });
        });
      },
    };
  }

  (window._JUPYTERLAB ??= {})["analyst-workbench"] = {
    init(scope) {
      shared = scope;
    },
    async get() {
      const made = await plugin();
      return () => ({ __esModule: true, default: made });
    },
  };
})();
