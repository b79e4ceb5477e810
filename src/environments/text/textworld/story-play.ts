/**
 * Plays a compiled game (`.z8`): its texts come from the story, and its state is tracked with the `.json` if
 * there is one.
 */
import { existsSync, readFileSync } from 'node:fs';
import { UserError } from '../../../base/errors.js';
import type { TextGame, TextTurn } from '../text-game.js';
import { loadGame, TextWorldPlay } from './game.js';
import { readGame } from './game-file.js';
import { loadInterpreter, Story } from './story.js';

/** Whether the file extension names a Z-machine version that ifvms supports. */
export const isStory = (file: string): boolean => /\.z[3458]$/i.test(file);

/**
 * @returns a function that starts a new play of the story, using the `.json` of the same name if there is one
 * @throws UserError if the file isn't a story, or ifvms isn't installed
 */
export function loadStory(file: string): () => TextGame {
  if (!existsSync(file))
    throw new UserError({ file, message: 'there is no such game', remedy: 'name a .z8 that tw-make wrote' });
  const bytes = readFileSync(file);
  if (![3, 4, 5, 8].includes(bytes[0] ?? 0))
    throw new UserError({ file, message: 'this is no story of a Z-machine of version 3, 4, 5 or 8' });
  const interpreter = loadInterpreter();
  const json = file.replace(/\.z\d$/i, '.json');
  const game = existsSync(json) ? loadGame(readGame(json), 'z8') : undefined;
  // The machine writes into the array that it is given.
  const start = () => new Story(file, Uint8Array.from(bytes), interpreter);
  return () => new StoryPlay(start, game && new TextWorldPlay(game));
}

/** Commands that would take the story outside the steps of an episode. */
const outside = /^\s*(undo|save|restore|restart|quit|q|script|transcript)\b/i;

class StoryPlay implements TextGame {
  readonly #begin: () => Story;
  /** The same game played by its rules, following the actions that the story reports. */
  readonly #tracked: TextWorldPlay | undefined;
  #story!: Story;
  #end: string | undefined;

  constructor(begin: () => Story, tracked: TextWorldPlay | undefined) {
    this.#begin = begin;
    this.#tracked = tracked;
  }

  get admissible(): readonly string[] | null {
    return this.#tracked?.admissible ?? null;
  }
  /** Without a `.json`, the score comes from the status line, such as `Kitchen 2/7`. */
  get score(): number {
    const [, shown = '0'] = /(-?\d+)\/\d+\s*$/.exec(this.#story.status) ?? [];
    return this.#tracked?.score ?? Number(shown);
  }
  get maxScore(): number | null {
    return this.#tracked?.maxScore ?? null;
  }
  get won(): boolean {
    return this.#tracked?.won ?? (this.#end !== undefined && winning.test(this.#end));
  }
  get lost(): boolean {
    return this.#tracked?.lost ?? (this.#end !== undefined && !winning.test(this.#end));
  }
  get moves(): number | null {
    return this.#tracked?.moves ?? null;
  }
  get objective(): string | undefined {
    return this.#tracked?.objective;
  }
  get gold(): readonly string[] | undefined {
    return this.#tracked?.gold;
  }

  start(): string {
    this.#story = this.#begin();
    this.#end = undefined;
    const text = this.#story.take();
    if (this.#tracked !== undefined) {
      this.#tracked.start();
      this.#story.send('tw-trace-actions');
    }
    // TextWorld's banner ends with this.
    const banner = text.lastIndexOf(bannerEnd);
    return banner < 0 ? text : text.slice(banner + bannerEnd.length).trimStart();
  }

  step(command: string): TextTurn {
    // A line break would start a second command.
    const line = command.replaceAll(/\s+/g, ' ').trim();
    if (outside.test(line)) return { text: 'That is not part of the game.', understood: false };
    const { text, events } = withoutEvents(this.#story.send(line));
    const followed = events.filter((event) => this.#tracked?.follow(event));
    [, this.#end] = /\*\*\* (.+?) \*\*\*/.exec(text) ?? [];
    if (this.#story.ended) this.#end ??= 'ended';
    return { text, understood: this.#tracked === undefined || followed.length > 0 };
  }
}

const winning = /the end|won|victory/i;
const bannerEnd = '$$$$$$$ ';

/**
 * Cuts out what `tw-trace-actions` prints around each action: `[opening the trunk]` and `[opening the trunk -
 * succeeded]`.
 */
function withoutEvents(printed: string): { readonly text: string; readonly events: readonly string[] } {
  const events: string[] = [];
  let text = printed;
  const ends = /\[([^\]\n]+?) - (succeeded|failed [^\]\n]*|ended without result)\]\n*/g;
  for (const [whole, event, outcome] of printed.matchAll(ends)) {
    if (outcome === 'succeeded') events.push(event!);
    text = text.replace(whole, '').replace(`[${event}]\n`, '');
  }
  return { text: text.replaceAll(/\n{3,}/g, '\n\n').trim(), events };
}
