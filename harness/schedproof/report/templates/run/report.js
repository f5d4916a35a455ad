// Only for looking: without this script everything on the page can be read.
"use strict";
const field = document.querySelector("#text");
const found = [...document.querySelectorAll(".f")];
const plain = (text) => text.toLowerCase().replace(/\s+/g, " ").trim();
const texts = found.map((one) => plain(one.textContent));
field.hidden = false;
document.querySelector(".filters").addEventListener("submit", (event) => event.preventDefault());
field.querySelector("input").addEventListener("input", (event) => {
  const wanted = plain(event.target.value);
  let shown = 0;
  found.forEach((one, place) => {
    const away = !texts[place].includes(wanted);
    one.classList.toggle("away", away);
    shown += !away && one.matches("section") ? 1 : 0;
  });
  field.querySelector("output").textContent = wanted ? `${shown} found` : "";
});
