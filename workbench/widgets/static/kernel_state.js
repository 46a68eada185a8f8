// Put before the module of each widget that asks: an anywidget module imports nothing of ours.

const NO_KERNEL = "gone";
const GIVE_UP_MS = 60000;

// What the server says of the kernel of a page that it serves ("idle", "busy", NO_KERNEL), "" where nobody answers or this is no such
// page; a notebook says itself when its kernel is gone. A page that is being left gave its kernel up itself, and asks no more.
async function kernelState() {
  if (window.workbenchLeft) return "";
  try {
    const { baseUrl, kernelId } = JSON.parse(document.getElementById("jupyter-config-data").textContent);
    if (!kernelId) return "";
    const reply = await fetch(`${baseUrl}api/kernels/${kernelId}`, { signal: AbortSignal.timeout(GIVE_UP_MS) });
    if (reply.status === 404) return NO_KERNEL;
    const state = reply.ok ? (await reply.json()).execution_state : "";
    return state === "dead" ? NO_KERNEL : state;
  } catch {
    return "";
  }
}

