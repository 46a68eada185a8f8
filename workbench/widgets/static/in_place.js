// Puts a live widget in the place of the HTML that a notebook cell shows for it.
//
// A front end runs `initialize` when the kernel opens the model, also where no output shows this model. So the output itself
// can be plain HTML, which a saved notebook, nbconvert and GitHub show, and the file never names a model of a kernel that is gone.

export default {
  async initialize({ model }) {
    const manager = model.widget_manager;
    const child = await manager.get_model(model.get("child").replace("IPY_MODEL_", ""));
    const name = model.get("name");
    const views = new Map();

    function detach(place, view) {
      views.delete(place);
      view.remove();
    }

    async function attach(place) {
      views.set(place, null); // taken: the search below may run again before the view is there
      const view = await manager.create_view(child);
      if (!place.isConnected) {
        detach(place, view);
        return;
      }
      views.set(place, view);
      const widget = view.luminoWidget;
      // What Lumino's Widget.attach sends, which a page without a bundler cannot import.
      widget.processMessage({ type: "before-attach", isConflatable: false });
      place.replaceChildren(widget.node);
      widget.processMessage({ type: "after-attach", isConflatable: false });
      // Arrows, Enter and letters are the widget's own; Ctrl-S and the like stay the notebook's.
      place.addEventListener("keydown", (event) => {
        if (!event.ctrlKey && !event.metaKey && !event.altKey && event.key !== "Tab") event.stopPropagation();
      });
      place.dataset.live = "true";
    }

    function look() {
      for (const [place, view] of views) {
        if (view && !place.isConnected && !document.contains(place) && place.dataset.parted === "true") detach(place, view);
        else if (view && !place.isConnected) place.dataset.parted = "true"; // a notebook parks cells that scroll out of sight
        else if (view) delete place.dataset.parted;
      }
      for (const place of document.getElementsByClassName(name)) {
        if (!views.has(place)) attach(place);
      }
    }

    // Of the front end's theme; a page without one says nothing and is light.
    function tellTheme() {
      model.set("dark", document.body.dataset.jpThemeLight === "false");
      model.save_changes();
    }

    let due = false;
    const themes = new MutationObserver(tellTheme);
    themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
    tellTheme();
    const observer = new MutationObserver(() => {
      if (due) return;
      due = true;
      requestAnimationFrame(() => {
        due = false;
        look();
      });
    });
    observer.observe(document.body, { childList: true, subtree: true });
    look();
    return () => {
      observer.disconnect();
      themes.disconnect();
      for (const [place, view] of views) if (view) detach(place, view);
    };
  },
};
