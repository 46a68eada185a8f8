// The fields of a page of ours: a text goes to Python when the typing rests and when its field is left, and a button's click after
// all that was entered before it. ipywidgets holds a text back while an older one of the same field is on its way, but no click:
// whoever types fast and presses Enter would start with the beginning of the text.

const REST_MS = 250;

function render({ model, el }) {
  const pressed = []; // buttons whose clicks wait until Python has heard what was entered
  let unheard = false;
  let resting = 0;
  const isHere = (place) => Boolean(place && el.closest(".wb-app")?.contains(place));
  const handlers = {
    input: ({ target }) => {
      if (!isHere(target) || !target.closest(".wb-live")) return;
      clearTimeout(resting);
      // ipywidgets takes it for the field's own, and sends the text.
      resting = setTimeout(() => target.dispatchEvent(new Event("change", { bubbles: true })), REST_MS);
    },
    change: ({ target }) => {
      if (isHere(target)) unheard = true;
    },
    click: (event) => {
      const button = event.target.closest?.("button.wb-action");
      if (!isHere(button) || !(unheard || pressed.length)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      pressed.push(button);
      if (pressed.length > 1) return;
      unheard = false;
      model.send({ type: "ping" });
    },
  };
  // Messages go and come in order: once this one is answered, nothing that was sent before it is held back any more.
  const onPong = () => {
    for (const button of pressed.splice(0)) button.click();
  };
  for (const [name, handler] of Object.entries(handlers)) document.addEventListener(name, handler, true);
  model.on("msg:custom", onPong);
  return () => {
    for (const [name, handler] of Object.entries(handlers)) document.removeEventListener(name, handler, true);
    model.off("msg:custom", onPong);
  };
}

export default { render };
