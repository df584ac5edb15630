// Which module draws which game. A game without one is played from the list of its acts.

import * as caribbean from "./caribbean.js";
import * as fiveCard from "./five-card.js";

const GAMES = { caribbean, "five-card": fiveCard };

export const gameOf = (table) => GAMES[table.status.game] ?? null;
