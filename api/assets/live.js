// Keeps the page fresh without reloading it: asks for the same page every two seconds, gets the parts
// that have changed, and changes only what differs, so that nothing flickers, scrolls or loses its focus. Without this file the page is
// complete and reloads itself.
"use strict";

const REFRESH_MS = 2000;
const ANSWER_MS_MAX = 8000; // longer than the server waits for the broker

const live = document.getElementById("live");
const silence = document.getElementById("silence");
let answeredAt = performance.now();
let due = 0;
let parts = []; // digest and text of each part of the page, as the server sent them last

function morph(now, then) {
  const isOpened = (name) => name === "open" && now.nodeName === "DETAILS"; // by the person
  for (const { name } of [...now.attributes]) {
    if (!then.hasAttribute(name) && !isOpened(name)) now.removeAttribute(name);
  }
  for (const { name, value } of then.attributes) {
    if (!isOpened(name) && now.getAttribute(name) !== value) now.setAttribute(name, value);
  }
  const nodes = [...then.childNodes];
  nodes.forEach((node, index) => {
    const old = now.childNodes[index];
    if (old === undefined) now.append(document.importNode(node, true));
    else if (old.nodeName !== node.nodeName) old.replaceWith(document.importNode(node, true));
    else if (node.nodeType === Node.ELEMENT_NODE) morph(old, node);
    else if (old.nodeValue !== node.nodeValue) old.nodeValue = node.nodeValue;
  });
  while (now.childNodes.length > nodes.length) now.lastChild.remove();
}

async function textOf(response) {
  if (!response.headers.get("content-type").startsWith("application/json")) {
    parts = [];
    return response.text();
  }
  const before = parts;
  parts = (await response.json()).map(([digest, text], index) => [digest, text ?? before[index][1]]);
  return parts.map(([, text]) => text).join("");
}

async function refresh() {
  const response = await fetch(location.href, {
    cache: "no-store",
    headers: { Accept: "text/html", "X-Parts": parts.map(([digest]) => digest).join(",") },
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  });
  if (response.redirected) {
    location.assign(response.url); // the login has ended
    return;
  }
  const then = new DOMParser().parseFromString(await textOf(response), "text/html");
  const found = then.getElementById("live");
  if (found === null) throw new Error("the answer is not this page");
  morph(live, found);
  if (document.title !== then.title) document.title = then.title;
  answeredAt = performance.now();
}

function showSilence(silent) {
  document.documentElement.classList.toggle("silent", silent);
  silence.hidden = !silent;
  // Written once, not every two seconds: a screen reader reads each change aloud.
  if (!silent) silence.textContent = "";
  else if (silence.textContent === "") {
    const since = new Date(Date.now() - (performance.now() - answeredAt)).toLocaleTimeString();
    silence.textContent = `The gateway's page has not answered since ${since}. What you see is from then.`;
  }
}

async function beat() {
  clearTimeout(due);
  if (document.hidden) return; // the page is not visible: no load on the device
  try {
    await refresh();
    showSilence(false);
  } catch {
    showSilence(true);
  }
  clearTimeout(due);
  due = setTimeout(beat, REFRESH_MS);
}

document.addEventListener("visibilitychange", beat);
due = setTimeout(beat, REFRESH_MS);
