// Which module draws which game. A game without one is played from the list of its acts.

import * as caribbean from "./caribbean.js";

const GAMES = { caribbean };

export const gameOf = (table) => GAMES[table.status.game] ?? null;
