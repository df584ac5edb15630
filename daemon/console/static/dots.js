// The sign as dots: five by seven for every character, drawn from what the sign was told.

import { h } from "./dom.js";

const COLUMNS = 6; // five dots and the gap
const ROWS = 7;

// Seven rows from the top, five bits each, the leftmost dot the highest bit.
const FONT = {
  " ": "00 00 00 00 00 00 00", "!": "04 04 04 04 04 00 04", "#": "0A 0A 1F 0A 1F 0A 0A",
  "$": "04 0F 14 0E 05 1E 04", "%": "18 19 02 04 08 13 03", "&": "0C 12 14 08 15 12 0D",
  "'": "04 04 08 00 00 00 00", "(": "02 04 08 08 08 04 02", ")": "08 04 02 02 02 04 08",
  "*": "00 04 15 0E 15 04 00", "+": "00 04 04 1F 04 04 00", ",": "00 00 00 00 0C 04 08",
  "-": "00 00 00 1F 00 00 00", ".": "00 00 00 00 00 0C 0C", "/": "00 01 02 04 08 10 00",
  "0": "0E 11 13 15 19 11 0E", "1": "04 0C 04 04 04 04 0E", "2": "0E 11 01 02 04 08 1F",
  "3": "1F 02 04 02 01 11 0E", "4": "02 06 0A 12 1F 02 02", "5": "1F 10 1E 01 01 11 0E",
  "6": "06 08 10 1E 11 11 0E", "7": "1F 01 02 04 08 08 08", "8": "0E 11 11 0E 11 11 0E",
  "9": "0E 11 11 0F 01 02 0C", ":": "00 0C 0C 00 0C 0C 00", "=": "00 00 1F 00 1F 00 00",
  "?": "0E 11 01 02 04 00 04", "A": "0E 11 11 11 1F 11 11", "B": "1E 11 11 1E 11 11 1E",
  "C": "0E 11 10 10 10 11 0E", "D": "1C 12 11 11 11 12 1C", "E": "1F 10 10 1E 10 10 1F",
  "F": "1F 10 10 1E 10 10 10", "G": "0E 11 10 17 11 11 0F", "H": "11 11 11 1F 11 11 11",
  "I": "0E 04 04 04 04 04 0E", "J": "07 02 02 02 02 12 0C", "K": "11 12 14 18 14 12 11",
  "L": "10 10 10 10 10 10 1F", "M": "11 1B 15 15 11 11 11", "N": "11 11 19 15 13 11 11",
  "O": "0E 11 11 11 11 11 0E", "P": "1E 11 11 1E 10 10 10", "Q": "0E 11 11 11 15 12 0D",
  "R": "1E 11 11 1E 14 12 11", "S": "0F 10 10 0E 01 01 1E", "T": "1F 04 04 04 04 04 04",
  "U": "11 11 11 11 11 11 0E", "V": "11 11 11 11 11 0A 04", "W": "11 11 11 15 15 15 0A",
  "X": "11 11 0A 04 0A 11 11", "Y": "11 11 11 0A 04 04 04", "Z": "1F 01 02 04 08 10 1F",
};
const UNKNOWN = "1F 11 11 11 11 11 1F";

function rowsOf(character) {
  return (FONT[character] ?? FONT[character.toUpperCase()] ?? UNKNOWN).split(" ").map((bits) => parseInt(bits, 16));
}

/** Lit and dark dots of a text as two SVG paths; each dot is a stroke without length. */
export function dotsOf(text) {
  let lit = "";
  let dark = "";
  [...text].forEach((character, at) => {
    rowsOf(character).forEach((bits, row) => {
      for (let column = 0; column < COLUMNS - 1; column++) {
        const dot = `M${at * COLUMNS + column + 1} ${row + 1}h0`;
        if (bits & (16 >> column)) lit += dot;
        else dark += dot;
      }
    });
  });
  return { lit, dark };
}

/** A text as a sign shows it. `proven` false draws it dim: nobody knows what the sign shows. */
export function dotText(text, { proven = true, label = text, least = 0 } = {}) {
  const shown = text.padStart(Math.ceil((least + text.length) / 2)).padEnd(least);
  const { lit, dark } = dotsOf(shown || " ");
  const width = Math.max(1, shown.length) * COLUMNS + 1;
  return h(
    "svg",
    { class: proven ? "dots" : "dots unproven", viewBox: `0 0 ${width} ${ROWS + 1}`, role: "img", "aria-label": label || "–" },
    h("path", { class: "dark", d: dark }),
    h("path", { class: "lit", d: lit }),
  );
}
