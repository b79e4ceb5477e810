/** Plays compiled games (e.g. `.z8`) with ifvms, an optional dependency; tracks their state if the `.json` exists. */

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { UserError } from '../../../base/errors.js';
import { EnvironmentError } from '../../remote/remote-environment.js';
import type { TextGame, TextTurn } from '../text-game.js';
import { buildGame, TextWorldPlay } from './game.js';
import { readGame } from './game-file.js';

/** Our interface to ifvms: a Z-machine, and a library for windows and input that holds the state of one story. */
interface Interpreter {
  createMachine(): { prepare(story: Uint8Array, options: object): void };
  createLibrary(): { init(options: object): void };
}

/** @throws UserError if ifvms isn't installed */
function loadInterpreter(): Interpreter {
  const require = createRequire(import.meta.url);
  try {
    const { ZVM } = require('ifvms') as { ZVM: new () => ReturnType<Interpreter['createMachine']> };
    const requireNearby = createRequire(require.resolve('ifvms'));
    const libraryPath = requireNearby.resolve('glkote-term/src/glkapi.js');
    return {
      createMachine: () => new ZVM(),
      createLibrary() {
        delete requireNearby.cache[libraryPath];
        return requireNearby(libraryPath) as ReturnType<Interpreter['createLibrary']>;
      },
    };
  } catch {
    throw new UserError({
      field: 'environment',
      message: 'compiled games need the package ifvms, which is not installed',
      hint: 'run npm install ifvms, or play the .json file that tw-make writes next to the .z8 file',
    });
  }
}

/** Text runs: alternating styles and texts, or objects that contain both. */
type TextRuns = readonly (string | { readonly text: string })[];

/** A screen update from the library, in GlkOte's protocol (https://eblong.com/zarf/glk/glkote/docs.html). */
interface StoryUpdate {
  readonly type: string;
  readonly gen?: number;
  readonly message?: string;
  readonly content?: readonly {
    readonly text?: readonly { readonly append?: boolean; readonly content?: TextRuns }[];
    readonly lines?: readonly { readonly content?: TextRuns }[];
  }[];
  readonly input?: readonly { readonly id: number; readonly type: 'line' | 'char' }[];
}

interface Library {
  accept(event: object): void;
}

/** The window metrics that GlkOte requires, in characters; margins and spaces are 0. */
const metrics = {
  width: 80,
  height: 25,
  buffercharheight: 1,
  buffercharwidth: 1,
  gridcharheight: 1,
  gridcharwidth: 1,
  buffermarginx: 0,
  buffermarginy: 0,
  graphicsmarginx: 0,
  graphicsmarginy: 0,
  gridmarginx: 0,
  gridmarginy: 0,
  inspacingx: 0,
  inspacingy: 0,
  outspacingx: 0,
  outspacingy: 0,
};

/** A running story, which pauses whenever it waits for a command. */
class Story {
  readonly #name: string;
  #library!: Library;
  #printed = '';
  #status = '';
  #generation = 0;
  #input: StoryUpdate['input'] = [];

  /** @throws EnvironmentError if the story stops with an error */
  constructor(name: string, story: Uint8Array, interpreter: Interpreter) {
    this.#name = name;
    const library = interpreter.createLibrary();
    const machine = interpreter.createMachine();
    const options = { vm: machine, Glk: library, GlkOte: this.#screen(), Dialog: noFiles };
    this.#runGuarded(() => {
      machine.prepare(story, options);
      library.init(options);
      this.#skipKeyPrompts();
    });
  }

  /** Returns and clears the text printed since the last command, without the command's echo and the prompt. */
  takeText(command = ''): string {
    const text = this.#printed.trimStart();
    this.#printed = '';
    return (text.startsWith(command) ? text.slice(command.length) : text).trimEnd().replace(/>$/, '').trim();
  }

  get status(): string {
    return this.#status;
  }

  /** True if the story no longer waits for input. */
  get ended(): boolean {
    return this.#input?.length === 0;
  }

  /** @returns the printed text. @throws EnvironmentError if the story stops with an error */
  send(command: string): string {
    this.#runGuarded(() => {
      const { id } = this.#input![0]!;
      this.#library.accept({ type: 'line', gen: this.#generation, window: id, value: command });
      this.#skipKeyPrompts();
    });
    return this.takeText(command);
  }

  /** Presses the space bar if the story waits for a key, because players can only send lines. */
  #skipKeyPrompts(): void {
    while (this.#input?.[0]?.type === 'char')
      this.#library.accept({ type: 'char', gen: this.#generation, window: this.#input[0].id, value: ' ' });
  }

  #screen() {
    return {
      init: (library: Library) => {
        this.#library = library;
        library.accept({ type: 'init', gen: 0, metrics, support: [] });
      },
      update: (update: StoryUpdate) => this.#update(update),
      getinterface: () => this.#library,
      log: () => undefined,
      warning: () => undefined,
      error: (message: string) => {
        throw new Error(message);
      },
    };
  }

  #update({ type, gen, message, content = [], input }: StoryUpdate): void {
    if (type === 'error') throw new Error(message);
    if (gen !== undefined) this.#generation = gen;
    for (const { lines, text = [] } of content) {
      if (lines !== undefined) this.#status = lines.map((line) => textOf(line.content)).join('\n');
      for (const { append, content: runs } of text) this.#printed += (append ? '' : '\n') + textOf(runs);
    }
    if (input !== undefined) this.#input = input;
    if (type === 'exit') this.#input = [];
  }

  #runGuarded(run: () => void): void {
    try {
      run();
    } catch (error) {
      throw new EnvironmentError('raised', `${this.#name}: the story stopped with an error: ${error}`);
    }
  }
}

function textOf(runs: TextRuns = []): string {
  let text = '';
  for (let i = 0; i < runs.length; i++) {
    const run = runs[i]!;
    // Each style precedes its text.
    if (typeof run !== 'string') text += run.text;
    else text += String(runs[++i]);
  }
  return text;
}

/** Stories can neither save nor read files. */
const noFiles = {
  streaming: false,
  autosave_read: () => null,
  autosave_write: () => undefined,
  file_construct_ref: () => null,
  file_ref_exists: () => false,
};

/** True if the file extension names a Z-machine version that ifvms supports. */
export const isStory = (file: string): boolean => /\.z[3458]$/i.test(file);

/** @returns a function that creates a game. @throws UserError for a missing or invalid file, or if ifvms is missing */
export function loadStory(file: string): () => TextGame {
  if (!existsSync(file))
    throw new UserError({
      file,
      message: 'the game file does not exist',
      hint: 'choose a .z8 file that tw-make wrote',
    });
  const bytes = readFileSync(file);
  if (![3, 4, 5, 8].includes(bytes[0] ?? 0))
    throw new UserError({ file, message: "this isn't a Z-machine story of version 3, 4, 5 or 8" });
  const interpreter = loadInterpreter();
  const jsonFile = file.replace(/\.z\d$/i, '.json');
  const game = existsSync(jsonFile) ? buildGame(readGame(jsonFile), 'z8') : undefined;
  // Copy the bytes, because the machine writes into its array.
  const startStory = () => new Story(file, Uint8Array.from(bytes), interpreter);
  return () => new StoryPlay(startStory, game && new TextWorldPlay(game));
}

/** Commands that would interfere with the steps of an episode. */
const metaCommandPattern = /^\s*(undo|save|restore|restart|quit|q|script|transcript)\b/i;

class StoryPlay implements TextGame {
  readonly #startStory: () => Story;
  /** The same game, simulated by its rules from the actions that the story reports. */
  readonly #simulation: TextWorldPlay | undefined;
  #story!: Story;
  #endText: string | undefined;

  constructor(startStory: () => Story, simulation: TextWorldPlay | undefined) {
    this.#startStory = startStory;
    this.#simulation = simulation;
  }

  get admissible(): readonly string[] | null {
    return this.#simulation?.admissible ?? null;
  }
  /** Without a `.json`, the score comes from the status line, such as `Kitchen 2/7`. */
  get score(): number {
    const [, shownScore = '0'] = /(-?(?<!\d)\d+)\/\d+\s*$/.exec(this.#story.status) ?? [];
    return this.#simulation?.score ?? Number(shownScore);
  }
  get maxScore(): number | null {
    return this.#simulation?.maxScore ?? null;
  }
  get won(): boolean {
    return this.#simulation?.won ?? (this.#endText !== undefined && winPattern.test(this.#endText));
  }
  get lost(): boolean {
    return this.#simulation?.lost ?? (this.#endText !== undefined && !winPattern.test(this.#endText));
  }
  get moves(): number | null {
    return this.#simulation?.moves ?? null;
  }
  get objective(): string | undefined {
    return this.#simulation?.objective;
  }
  get gold(): readonly string[] | undefined {
    return this.#simulation?.gold;
  }

  start(): string {
    this.#story = this.#startStory();
    this.#endText = undefined;
    const text = this.#story.takeText();
    if (this.#simulation !== undefined) {
      this.#simulation.start();
      this.#story.send('tw-trace-actions');
    }
    // Skip TextWorld's banner.
    const banner = text.lastIndexOf(bannerEnd);
    return banner < 0 ? text : text.slice(banner + bannerEnd.length).trimStart();
  }

  step(command: string): TextTurn {
    // A line break would start a second command.
    const line = command.replaceAll(/\s+/g, ' ').trim();
    if (metaCommandPattern.test(line)) return { text: 'That is not part of the game.', understood: false };
    const { text, events } = separateEvents(this.#story.send(line));
    const followedEvents = events.filter((event) => this.#simulation?.follow(event));
    [, this.#endText] = /\*\*\* ([^*\n]+) \*\*\*/.exec(text) ?? [];
    if (this.#story.ended) this.#endText ??= 'ended';
    return { text, understood: this.#simulation === undefined || followedEvents.length > 0 };
  }
}

const winPattern = /the end|won|victory/i;
const bannerEnd = '$$$$$$$ ';

/** Separates the text from the trace, e.g. `[opening the trunk - succeeded]`; lists the events that succeeded. */
function separateEvents(printed: string): { readonly text: string; readonly events: readonly string[] } {
  const events: string[] = [];
  let text = printed;
  const endPattern =
    /\[((?:(?! - (?:succeeded|failed |ended without))[^[\]\n])+) - (succeeded|failed [^\]\n]*|ended without result)\]\n*/g;
  for (const [whole, event, outcome] of printed.matchAll(endPattern)) {
    if (outcome === 'succeeded') events.push(event!);
    text = text.replace(whole, '').replace(`[${event}]\n`, '');
  }
  return { text: text.replaceAll(/\n{3,}/g, '\n\n').trim(), events };
}
