// Only for clicking: without this script, and in print, everything on the page can be read.
"use strict";

// Tabs, as the ARIA Authoring Practices describe them: arrows, Home and End move, one tab is in the tab order.
function makeTabs(group, number) {
  const panels = [...group.children].filter((child) => child.matches(".panel"));
  if (panels.length < 2) return;
  const list = document.createElement("div");
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", group.dataset.label);
  const tabs = panels.map((panel, place) => {
    panel.id ||= `panel-${number}-${place}`;
    const tab = document.createElement("button");
    tab.type = "button";
    tab.id = `tab-${number}-${place}`;
    tab.textContent = panel.dataset.tab;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panel.id);
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    tab.addEventListener("click", () => select(place));
    list.append(tab);
    return tab;
  });
  function select(chosen) {
    panels.forEach((panel, place) => {
      panel.hidden = place !== chosen;
      tabs[place].setAttribute("aria-selected", String(place === chosen));
      tabs[place].tabIndex = place === chosen ? 0 : -1;
    });
  }
  list.addEventListener("keydown", (event) => {
    const place = tabs.indexOf(document.activeElement);
    const target = {
      ArrowRight: (place + 1) % tabs.length,
      ArrowLeft: (place + tabs.length - 1) % tabs.length,
      Home: 0,
      End: tabs.length - 1,
    }[event.key];
    if (place < 0 || target === undefined) return;
    event.preventDefault();
    select(target);
    tabs[target].focus();
  });
  panels.forEach((panel, place) => panel.addEventListener("reveal", () => select(place)));
  group.prepend(list);
  select(0);
}

// A link to something in a hidden panel opens the panels around it.
function reveal() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let panel = target.closest(".panel"); panel; panel = panel.parentElement.closest(".panel"))
    panel.dispatchEvent(new Event("reveal"));
  target.scrollIntoView();
}

// A key's entries show and hide their series, in every chart of the page.
function makeToggle(item) {
  const button = document.createElement("button");
  button.type = "button";
  button.setAttribute("aria-pressed", "true");
  button.append(...item.childNodes);
  item.append(button);
  button.addEventListener("click", () => {
    const shown = button.getAttribute("aria-pressed") !== "true";
    const series = `[data-series="${item.dataset.series}"]`;
    document.querySelectorAll(`.key ${series} button`).forEach((one) => one.setAttribute("aria-pressed", String(shown)));
    document.querySelectorAll(`svg ${series}`).forEach((one) => one.classList.toggle("off", !shown));
  });
}

function valueOf(row, column) {
  const cell = row.cells[column];
  return cell.dataset.key === undefined ? cell.textContent : Number(cell.dataset.key);
}

// Numbers before words, whichever way; what is alike keeps its order.
function compare(a, b) {
  if (typeof a === typeof b) return typeof a === "number" ? a - b : a.localeCompare(b);
  return typeof a === "number" ? -1 : 1;
}

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if (!head.textContent.trim() || head.querySelector("svg")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const order = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      heads.forEach((one) => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => sign * compare(valueOf(a, column), valueOf(b, column)));
      table.tBodies[0].append(...rows);
    });
  });
}

document.querySelectorAll(".tabs").forEach(makeTabs);
document.querySelectorAll(".key [data-series]").forEach(makeToggle);
document.querySelectorAll("table.sortable").forEach(makeSortable);
window.addEventListener("hashchange", reveal);
reveal();
