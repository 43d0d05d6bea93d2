"use strict";

// ---------------------------------------------------------------- logic, without a page (tests load it into node)

// Order of two sort values; what has none (a failure, nothing measured) is last in both directions.
function compareValues(left, right, kind, direction) {
  const missing = (value) => value === null || value === undefined || value === "";
  if (missing(left) || missing(right)) return Number(missing(left)) - Number(missing(right));
  const order = kind === "number" ? Number(left) - Number(right) : String(left).localeCompare(String(right));
  return direction === "down" ? -order : order;
}

// Whether a kernel is shown. `row.states` are its states by framework; of hidden frameworks none counts.
function matches(row, filters) {
  const words = (filters.text || "").toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.every((word) => row.search.includes(word))) return false;
  if (filters.domain && row.domain !== filters.domain) return false;
  if (filters.dwarf && row.dwarf !== filters.dwarf) return false;
  if (!filters.state) return true;
  const states = Object.keys(row.states)
    .filter((name) => !filters.hidden.includes(name))
    .map((name) => row.states[name]);
  if (filters.state === "any failure") return states.some((state) => state && state !== "ok");
  return states.includes(filters.state);
}

function geometricMean(values) {
  if (!values.length) return null;
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

function showFactor(ratio) {
  const factor = ratio >= 1 ? ratio : 1 / ratio;
  const digits = factor >= 99.95 ? 0 : factor >= 9.995 ? 1 : 2;
  return (ratio >= 1 ? "↑" : "↓") + factor.toFixed(digits);
}

// What is chosen stands in the address, so that a view can be kept and sent: #sort=weft&direction=down&domain=Physics
function readChoice(hash) {
  const found = new URLSearchParams(hash.replace(/^#/, ""));
  const choice = { hidden: (found.get("hidden") || "").split(",").filter(Boolean) };
  for (const key of CHOICES) choice[key] = found.get(key) || "";
  return choice;
}

function writeChoice(choice) {
  const written = new URLSearchParams();
  for (const key of CHOICES) if (choice[key]) written.set(key, choice[key]);
  if (choice.hidden.length) written.set("hidden", choice.hidden.join(","));
  return written.toString();
}

const CHOICES = ["setting", "sort", "direction", "text", "domain", "dwarf", "state", "open", "theme"];

// ---------------------------------------------------------------- the page

function start() {
  const root = document.documentElement;
  const all = (selector, within) => Array.from((within || document).querySelectorAll(selector));
  const sections = all("section.setting");
  const fields = ["text", "domain", "dwarf", "state"];
  let choice = readChoice(location.hash);
  root.classList.remove("plain");

  function describe(body) {
    const states = {};
    for (const cell of all("tr.kernel [data-framework]", body)) states[cell.dataset.framework] = cell.dataset.state;
    return { search: body.dataset.search, domain: body.dataset.domain, dwarf: body.dataset.dwarf, states };
  }

  function sortTable(table) {
    const heads = all("thead th[data-key]", table);
    const place = heads.findIndex((head) => head.dataset.key === choice.sort);
    for (const head of heads) head.removeAttribute("aria-sort");
    const bodies = all("tbody[data-kernel]", table);
    if (place < 0) bodies.sort((left, right) => left.dataset.place - right.dataset.place);
    else {
      heads[place].setAttribute("aria-sort", choice.direction === "down" ? "descending" : "ascending");
      const value = (body) => body.rows[0].cells[place].dataset.value;
      const kind = heads[place].dataset.kind;
      bodies.sort((left, right) => compareValues(value(left), value(right), kind, choice.direction));
    }
    table.append(...bodies);
  }

  function filterTable(table) {
    const bodies = all("tbody[data-kernel]", table);
    for (const body of bodies) {
      body.hidden = !matches(describe(body), choice);
      const isOpen = body.dataset.kernel === choice.open || body.classList.contains("open");
      setOpen(body, isOpen);
    }
    for (const cell of all("[data-framework]", table)) cell.hidden = choice.hidden.includes(cell.dataset.framework);
    const shown = bodies.filter((body) => !body.hidden);
    for (const mean of all("tr.mean td", table)) {
      const cells = shown.flatMap((body) => all("tr.kernel [data-value]", body));
      const own = cells.filter((cell) => cell.dataset.framework === mean.dataset.framework);
      const found = geometricMean(own.map((cell) => Number(cell.dataset.value)));
      mean.textContent = found === null ? "" : showFactor(found);
    }
    return [shown.length, bodies.length];
  }

  function setOpen(body, isOpen) {
    body.classList.toggle("open", isOpen);
    body.querySelector(".opener").setAttribute("aria-expanded", String(isOpen));
  }

  function show() {
    if (!sections.some((section) => section.dataset.setting === choice.setting)) choice.setting = "";
    const setting = choice.setting || (sections[0] && sections[0].dataset.setting);
    for (const section of sections) {
      section.hidden = section.dataset.setting !== setting;
      const table = section.querySelector("table.sortable");
      sortTable(table);
      const [shown, total] = filterTable(table);
      if (!section.hidden) document.getElementById("count").textContent = `${shown} of ${total} kernels`;
    }
    for (const button of all(".settings button")) button.setAttribute("aria-pressed", button.dataset.setting === setting);
    for (const box of all("[data-toggle]")) box.checked = !choice.hidden.includes(box.dataset.toggle);
    for (const field of fields) {
      const input = document.getElementById(field);
      if (input && input.value !== choice[field]) input.value = choice[field];
    }
    if (choice.theme) root.dataset.theme = choice.theme;
    else delete root.dataset.theme;
  }

  function choose(changes) {
    Object.assign(choice, changes);
    history.replaceState(null, "", `#${writeChoice(choice)}`);
    show();
  }

  function chooseSort(head) {
    const first = head.dataset.kind === "number" && head.dataset.framework ? "down" : "up";
    const second = first === "down" ? "up" : "down";
    if (choice.sort !== head.dataset.key) choose({ sort: head.dataset.key, direction: first });
    else if (choice.direction === first) choose({ direction: second });
    else choose({ sort: "", direction: "" });
  }

  for (const table of all("table.sortable")) {
    all("tbody[data-kernel]", table).forEach((body, place) => {
      body.dataset.place = place;
      const opener = body.querySelector(".opener");
      opener.addEventListener("click", () => {
        choice.open = "";
        setOpen(body, !body.classList.contains("open"));
      });
    });
    for (const head of all("thead th[data-key]", table))
      head.querySelector("button").addEventListener("click", () => chooseSort(head));
  }
  for (const field of fields) {
    const input = document.getElementById(field);
    if (input) input.addEventListener("input", () => choose({ [field]: input.value }));
  }
  for (const box of all("[data-toggle]"))
    box.addEventListener("change", () => {
      const hidden = all("[data-toggle]").filter((other) => !other.checked);
      choose({ hidden: hidden.map((other) => other.dataset.toggle) });
    });
  for (const button of all(".settings button"))
    button.addEventListener("click", () => choose({ setting: button.dataset.setting }));
  for (const link of all("[data-jump]"))
    link.addEventListener("click", (event) => {
      event.preventDefault(); // the address holds the choice
      const target = document.getElementById(link.dataset.jump) || document.querySelector("main");
      target.scrollIntoView({ behavior: "smooth" });
    });
  const controls = document.getElementById("controls");
  if (controls) {
    controls.addEventListener("submit", (event) => event.preventDefault());
    controls.addEventListener("reset", (event) => {
      event.preventDefault();
      choose({ text: "", domain: "", dwarf: "", state: "", sort: "", direction: "", hidden: [] });
    });
  }
  document.getElementById("theme").addEventListener("click", () => {
    const dark = choice.theme ? choice.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    choose({ theme: dark ? "light" : "dark" });
  });
  window.addEventListener("hashchange", () => {
    choice = readChoice(location.hash);
    show();
  });
  show();
}

if (typeof document !== "undefined") start();
if (typeof module !== "undefined") {
  module.exports = { compareValues, matches, geometricMean, showFactor, readChoice, writeChoice };
}
