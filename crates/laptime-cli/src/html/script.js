// What every page does in the browser. It works without, too: then nothing is said on hover but titles.
"use strict";
(() => {
  const root = document.documentElement;
  const tip = document.getElementById("tip");

  // Light and dark: as the system has it, until the switch says otherwise.
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => {
    try {
      return localStorage.getItem("laptime-theme");
    } catch {
      return null; // A page in a file may not be allowed to keep anything.
    }
  };
  const show = (theme) => {
    if (theme) root.dataset.theme = theme;
    const dark = (theme || (system.matches ? "dark" : "light")) === "dark";
    button.textContent = dark ? "light" : "dark";
    button.setAttribute("aria-label", `Switch to ${button.textContent} colours`);
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    const theme = button.textContent;
    try {
      localStorage.setItem("laptime-theme", theme);
    } catch {
      // It holds for this page only.
    }
    show(theme);
  });
  system.addEventListener("change", () => show(root.dataset.theme));
  show(kept());

  // Values on hover, and with the arrow keys once a chart has the focus.
  const marks = (chart) => [...chart.querySelectorAll("[data-tip]")];
  const say = (mark, x, y) => {
    for (const other of document.querySelectorAll(".said")) other.classList.remove("said");
    if (!mark) {
      tip.hidden = true;
      return;
    }
    mark.classList.add("said");
    tip.textContent = mark.dataset.tip;
    tip.hidden = false;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(x + 14, room))}px`;
    const below = y + 18 + tip.offsetHeight < innerHeight;
    tip.style.top = `${below ? y + 18 : Math.max(8, y - 12 - tip.offsetHeight)}px`;
  };
  const sayAt = (mark) => {
    const box = mark.getBoundingClientRect();
    say(mark, box.left + box.width / 2, box.top + box.height / 2);
  };
  const prepare = () => {
    for (const chart of document.querySelectorAll("svg.lt")) {
      for (const title of chart.querySelectorAll("title")) {
        const mark = title.parentElement;
        if (mark === chart) continue;
        mark.dataset.tip = title.textContent;
        title.remove();
      }
      if (chart.querySelector("[data-tip]")) chart.setAttribute("tabindex", "0");
    }
  };
  document.addEventListener("pointermove", (event) => {
    const mark = event.target instanceof Element ? event.target.closest("svg.lt [data-tip]") : null;
    if (mark || event.pointerType === "mouse") say(mark, event.clientX, event.clientY);
  });
  document.addEventListener("pointerdown", (event) => {
    const mark = event.target instanceof Element ? event.target.closest("svg.lt [data-tip]") : null;
    say(mark, event.clientX, event.clientY);
  });
  // The place under the pointer changes; a mark that the keys chose takes its words along.
  const follow = () => {
    const mark = document.querySelector("svg.lt:focus .said");
    if (mark) sayAt(mark);
    else say(null);
  };
  document.addEventListener("scroll", follow, { passive: true });
  document.addEventListener("keydown", (event) => {
    const chart = document.activeElement;
    if (event.key === "Escape") say(null);
    if (!chart || !chart.matches("svg.lt")) return;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const all = marks(chart);
    const at = all.findIndex((mark) => mark.classList.contains("said"));
    const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.max(0, Math.min(all.length - 1, at + step))];
    sayAt(next);
  });
  document.addEventListener("focusout", () => say(null));
  prepare();

  // Numbers that are no longer renewed must not look as if they were.
  const answered = (is) => {
    const line = document.getElementById("lost");
    if (is) line?.remove();
    if (is || line) return;
    const fresh = document.createElement("p");
    fresh.id = "lost";
    fresh.setAttribute("role", "alert");
    const now = new Date().toLocaleTimeString();
    fresh.textContent = `laptime serve does not answer: this page is as it was at ${now}. Start it again and open its new address.`;
    document.getElementById("content").before(fresh);
  };
  document.addEventListener("answered", (event) => answered(event.detail));

  // A page of a run that goes on is fetched again; what was opened stays open.
  const seconds = Number(document.body.dataset.refresh);
  const renew = async () => {
    if (document.hidden) return;
    const answer = await fetch(location.href, { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.statusText);
    answered(true);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const [old, main] = [document.getElementById("content"), fresh.getElementById("content")];
    const chart = document.activeElement?.matches("svg.lt");
    if (!main || old.innerHTML === main.innerHTML || chart) return;
    // Whoever goes through the page by keyboard stays at the same link.
    const stops = () => [...old.querySelectorAll("a, button, summary, [tabindex]")];
    const stop = stops().indexOf(document.activeElement);
    const open = [...old.querySelectorAll("details[open]")].map((one) => one.id);
    for (const id of open) fresh.getElementById(id)?.setAttribute("open", "");
    old.replaceChildren(...main.childNodes);
    document.title = fresh.title;
    document.body.dataset.refresh = fresh.body.dataset.refresh || "";
    prepare();
    if (stop >= 0) stops()[stop]?.focus({ preventScroll: true });
  };
  const again = () => {
    const wait = Number(document.body.dataset.refresh);
    if (wait > 0) setTimeout(() => renew().catch(() => answered(false)).finally(again), wait * 1000);
  };
  if (seconds > 0) again();
})();
