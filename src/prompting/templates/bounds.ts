/** How much a template may do: a prompt set may come from anywhere, and loops in loops multiply. */
import type Handlebars from 'handlebars';
import { withinTime } from '../../base/time-limit.js';

/** Turns of all loops in one prompt; the longest histories with trajectories take a tenth. */
const mostTurns = 1_000_000;
/** Characters that loops make in one prompt, each as often as loops lie around it. */
const mostCharacters = 20_000_000;
/** For what counts nothing: the user's helpers. */
const mostSeconds = 20;

/** What the prompt that is being rendered has left. */
const left = { turns: 0, characters: 0 };

type Block = (this: unknown, list: unknown, options: Handlebars.HelperOptions) => string;

/** Makes `each` count its turns and what they write. */
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

/** @throws Error when the prompt takes too many turns, is too long, or takes too long */
export function bounded(render: () => string): string {
  Object.assign(left, { turns: mostTurns, characters: mostCharacters });
  return withinTime(mostSeconds, render);
}
