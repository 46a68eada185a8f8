// A panel of HTML that Python renders and escapes. Changed pieces come as splices, and only what differs is touched on the
// page: a fold that is open stays open, and the focus stays where it is.

function parsed(html) {
  return new DOMParser().parseFromString(html, "text/html").body; // an inert document: nothing in it loads or runs
}

function matchAttributes(old, fresh) {
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !(name === "open" && old.nodeName === "DETAILS")) old.setAttribute(name, value);
  }
}

function matchChildren(old, fresh) {
  let at = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    if (!at) {
      old.append(wanted);
    } else if (at.nodeType !== wanted.nodeType || at.nodeName !== wanted.nodeName) {
      at.replaceWith(wanted);
      at = wanted.nextSibling;
    } else {
      if (at.nodeType === Node.ELEMENT_NODE) {
        matchAttributes(at, wanted);
        matchChildren(at, wanted);
      } else if (at.nodeValue !== wanted.nodeValue) {
        at.nodeValue = wanted.nodeValue;
      }
      at = at.nextSibling;
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function render({ model, el }) {
  el.classList.add("wb-panel");
  const paint = () => matchChildren(el, parsed(model.get("content").pieces.join("")));
  const save = ({ file, media }, [data]) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([data], { type: media }));
    link.download = file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  };
  // What Python sent before there was a view to hear it, or what else was missed, comes as the whole content.
  const tellRev = () => {
    // A page of ours that is being left has given its kernel up: whatever is still being drawn has nobody to tell.
    if (!window.workbenchLeft) model.send({ type: "seen", rev: model.get("content").rev });
  };
  const onMessage = (message, buffers) => {
    if (message.file) {
      save(message, buffers);
      return;
    }
    const content = model.get("content");
    // Two views of one panel share its content: the first to hear of a change makes it.
    if (message.rev === content.rev + 1) {
      for (const [at, drop, put] of message.splices) content.pieces.splice(at, drop, ...put);
      content.rev = message.rev;
    } else if (message.rev > content.rev) {
      tellRev();
      return;
    }
    paint();
  };
  const onClick = (event) => {
    const chosen = event.target.closest("[data-select]");
    if (chosen) model.send({ type: "select", id: chosen.dataset.select });
    const asked = event.target.closest("button[data-ask]");
    if (asked) model.send({ type: "open", name: asked.dataset.ask });
  };
  const onToggle = (event) => {
    if (event.target.open && event.target.dataset.ask) model.send({ type: "open", name: event.target.dataset.ask });
  };
  model.on("change:content", paint);
  model.on("msg:custom", onMessage);
  el.addEventListener("click", onClick);
  el.addEventListener("toggle", onToggle, true); // it does not bubble
  paint();
  tellRev();
  return () => {
    model.off("change:content", paint);
    model.off("msg:custom", onMessage);
  };
}

export default { render };
