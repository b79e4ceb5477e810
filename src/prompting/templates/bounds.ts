/** Limits the work of a template: prompt sets may come from anywhere, and nested loops multiply. */
import type Handlebars from 'handlebars';
import { withinTime } from '../../base/time-limit.js';

/** Maximum number of iterations of all loops in one prompt; the longest histories with trajectories use a tenth. */
const mostTurns = 1_000_000;
/** Maximum number of characters written by loops in one prompt, counted once per enclosing loop. */
const mostCharacters = 20_000_000;
/** Time limit in seconds, for what the counters don't cover: the user's helpers. */
const mostSeconds = 20;

/** What the current prompt has left. */
const left = { turns: 0, characters: 0 };

type Block = (this: unknown, list: unknown, options: Handlebars.HelperOptions) => string;

/** Makes `each` count its iterations and their output. */
export function boundLoops(handlebars: typeof Handlebars): void {
  const each = handlebars.helpers.each as Block;
  handlebars.registerHelper(
    'each',
    function (this: unknown, list: unknown, options: Handlebars.HelperOptions) {
      const fn: typeof options.fn = (...given) => {
        if (--left.turns < 0) throw new Error(`its loops take more than ${mostTurns} turns`);
        const text = options.fn(...given);
        left.characters -= text.length;
        if (left.characters < 0) throw new Error(`its loops write more than ${mostCharacters} characters`);
        return text;
      };
      return each.call(this, list, { ...options, fn: Object.assign(fn, options.fn) });
    },
  );
}

/** @throws Error if rendering takes too many iterations, too many characters or too long */
export function bounded(render: () => string): string {
  Object.assign(left, { turns: mostTurns, characters: mostCharacters });
  return withinTime(mostSeconds, render);
}
