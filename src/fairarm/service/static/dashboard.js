// Every five seconds the page is asked for again, and the parts of it that have changed are put in place. Without this file
// the page says the same; it then has to be reloaded by hand.
"use strict";

const EVERY = 5000;
const state = document.getElementById("updates");
const button = document.getElementById("hold");
let held = false;

function say(words) {
  if (state && state.textContent !== words) state.textContent = words;
}

// What the reader has opened, moved or is typing in stays as it is.
function kept(part) {
  return part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select");
}

function replacePart(old, fresh) {
  if (old.isEqualNode(fresh) || kept(old)) return;
  const open = new Set(Array.from(old.querySelectorAll("details[open] > summary[id]"), (one) => one.id));
  const moved = new Map(Array.from(old.querySelectorAll(".scroll"), (one) => [one.getAttribute("aria-labelledby"), one.scrollLeft]));
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const name = focused && (focused.id || focused.getAttribute("aria-labelledby") || focused.getAttribute("href"));
  const made = document.importNode(fresh, true);
  for (const one of made.querySelectorAll("details > summary[id]")) if (open.has(one.id)) one.parentElement.open = true;
  old.replaceWith(made);
  for (const one of made.querySelectorAll(".scroll")) one.scrollLeft = moved.get(one.getAttribute("aria-labelledby")) || 0;
  if (name) {
    const again = Array.from(made.querySelectorAll("[id], [aria-labelledby], a[href]")).find(
      (one) => (one.id || one.getAttribute("aria-labelledby") || one.getAttribute("href")) === name);
    if (again) again.focus({ preventScroll: true });
  }
}

// What is known is read aloud when it changes: once, and not with every second that goes by.
function speak(old, fresh) {
  if (old.dataset.words === fresh.dataset.words) return;
  old.dataset.words = fresh.dataset.words;
  old.textContent = fresh.dataset.words;
}

function put(fresh) {
  for (const old of document.querySelectorAll("[data-live]")) {
    const found = fresh.getElementById(old.id);
    if (!found) continue;
    if (old.hasAttribute("aria-live")) speak(old, found);
    else replacePart(old, found);
  }
  document.title = fresh.title;
}

async function update() {
  if (held || document.hidden) return;
  try {
    const answer = await fetch(location.pathname, { credentials: "same-origin", headers: { Accept: "text/html" }, cache: "no-store" });
    if (answer.redirected) { location.reload(); return; }
    if (!answer.ok) throw new Error(String(answer.status));
    put(new DOMParser().parseFromString(await answer.text(), "text/html"));
    say("Updated every 5 seconds.");
  } catch (error) {
    say("The service does not answer. What you see may be old; this page goes on asking.");
  }
}

if (button) {
  button.hidden = false;
  button.addEventListener("click", () => {
    held = !held;
    button.setAttribute("aria-pressed", String(held));
    button.textContent = held ? "Update again" : "Hold updates";
    say(held ? "Updates are held." : "Updated every 5 seconds.");
  });
}
if (document.querySelector("[data-live]")) {
  say("Updated every 5 seconds.");
  setInterval(update, EVERY);
}

// A link that ends in #token=… signs in: what follows # is never sent, and leaves no trace in the history.
const form = document.getElementById("login");
const token = new URLSearchParams(location.hash.slice(1)).get("token");
if (form && token) {
  history.replaceState(null, "", location.pathname);
  form.elements.token.value = token;
  form.submit();
}
