// The list of runs in the browser: renewed while runs are recorded, filtered as one types, two ticked to compare.
"use strict";
(() => {
  const INTERVAL_MS = 2000;
  const READING_MS = 300; // Runs are still being read: they come soon.
  const form = document.getElementById("filter");
  const list = () => document.getElementById("list");
  const ticked = () => [...list().querySelectorAll("input[name=run]:checked")];

  const showTicked = () => {
    const button = document.querySelector("#compare button");
    if (!button) return;
    const count = ticked().length;
    button.disabled = count !== 2;
    button.textContent = count === 2 ? "Compare the two ticked runs" : `Tick two runs to compare them (${count} ticked)`;
  };

  const address = () => {
    const wanted = new URLSearchParams(form ? new FormData(form) : "");
    for (const [name, value] of [...wanted]) if (!value) wanted.delete(name);
    return wanted.size ? `/?${wanted}` : "/";
  };

  // Where the reader is, what is ticked and what has the focus stay as they are.
  const show = (fresh) => {
    const old = list();
    if (!fresh || old.innerHTML === fresh.innerHTML) return;
    const kept = new Set(ticked().map((box) => box.value));
    const focus = old.contains(document.activeElement) ? document.activeElement : null;
    const same = focus && (focus.id ? `#${CSS.escape(focus.id)}` : focus.href && `a[href="${CSS.escape(focus.getAttribute("href"))}"]`);
    old.replaceChildren(...fresh.childNodes);
    for (const box of old.querySelectorAll("input[name=run]")) box.checked = kept.has(box.value);
    if (same) old.querySelector(same)?.focus({ preventScroll: true });
  };

  let asked = 0;
  const renew = async () => {
    const number = ++asked;
    const answer = await fetch(address(), { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.statusText);
    said(true);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (number !== asked) return;
    if (!form && page.getElementById("filter")) location.reload();
    show(page.getElementById("list"));
    showTicked();
  };
  const said = (answered) => document.dispatchEvent(new CustomEvent("answered", { detail: answered }));
  const quietly = () => renew().catch(() => said(false)); // What is shown stays.

  let typing;
  form?.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      history.replaceState(null, "", address());
      quietly();
    }, 120);
  });
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    history.replaceState(null, "", address());
    quietly();
  });
  form?.querySelector("button")?.setAttribute("hidden", "");
  document.addEventListener("change", (event) => {
    if (event.target.name === "run") showTicked();
  });
  const again = () => {
    const wait = document.querySelector(".status.reading") ? READING_MS : INTERVAL_MS;
    setTimeout(() => (document.hidden ? Promise.resolve() : quietly()).finally(again), wait);
  };
  showTicked();
  again();
})();
