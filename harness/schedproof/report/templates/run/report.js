// Only for looking: without this script everything on the page can be read.
"use strict";
const field = document.querySelector("#text");
const found = [...document.querySelectorAll(".f")];
const texts = found.map((one) => one.textContent.toLowerCase());
field.hidden = false;
document.querySelector(".filters").addEventListener("submit", (event) => event.preventDefault());
field.querySelector("input").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  found.forEach((one, place) => {
    const away = !words.every((word) => texts[place].includes(word));
    one.classList.toggle("away", away);
    shown += !away && one.matches("section") ? 1 : 0;
  });
  field.querySelector("output").textContent = words.length ? `${shown} found` : "";
});
