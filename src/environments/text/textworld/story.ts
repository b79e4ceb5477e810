/** Runs a story file (`.z8`) with ifvms, an optional dependency: takes input lines and returns the printed text. */
import { createRequire } from 'node:module';
import { UserError } from '../../../base/errors.js';
import { EnvironmentError } from '../../remote/remote-environment.js';

/** What ifvms provides: a Z-machine, and a library for windows and input that holds the state of one story. */
interface Interpreter {
  machine(): { prepare(story: Uint8Array, options: object): void };
  library(): { init(options: object): void };
}

/** @throws UserError if ifvms isn't installed */
export function loadInterpreter(): Interpreter {
  const require = createRequire(import.meta.url);
  try {
    const { ZVM } = require('ifvms') as { ZVM: new () => ReturnType<Interpreter['machine']> };
    const near = createRequire(require.resolve('ifvms'));
    const library = near.resolve('glkote-term/src/glkapi.js');
    return {
      machine: () => new ZVM(),
      library() {
        delete near.cache[library];
        return near(library) as ReturnType<Interpreter['library']>;
      },
    };
  } catch {
    throw new UserError({
      field: 'environment',
      message: '.z8 games are played by the package ifvms, which is not installed',
      remedy: 'npm install ifvms, or play the .json that tw-make writes beside the .z8',
    });
  }
}

/** Text runs: alternating styles and texts, or objects that contain both. */
type Runs = readonly (string | { readonly text: string })[];

/** What the library reports about the screen: GlkOte's protocol (https://eblong.com/zarf/glk/glkote/docs.html). */
interface Update {
  readonly type: string;
  readonly gen?: number;
  readonly message?: string;
  readonly content?: readonly {
    readonly text?: readonly { readonly append?: boolean; readonly content?: Runs }[];
    readonly lines?: readonly { readonly content?: Runs }[];
  }[];
  readonly input?: readonly { readonly id: number; readonly type: 'line' | 'char' }[];
  /** Present if the story asks for a file name. */
  readonly specialinput?: object;
}

interface Library {
  accept(event: object): void;
}

const metrics = { width: 80, height: 25, buffercharheight: 1, buffercharwidth: 1, gridcharheight: 1 };
const margins = {
  buffermarginx: 0,
  buffermarginy: 0,
  graphicsmarginx: 0,
  graphicsmarginy: 0,
  gridcharwidth: 1,
};
const spaces = {
  gridmarginx: 0,
  gridmarginy: 0,
  inspacingx: 0,
  inspacingy: 0,
  outspacingx: 0,
  outspacingy: 0,
};

/** A running story, paused where it waits for a line. */
export class Story {
  readonly #name: string;
  #library!: Library;
  #printed = '';
  #status = '';
  #generation = 0;
  #input: Update['input'] = [];
  #asksForFile = false;

  /** @throws EnvironmentError if the story stops with an error */
  constructor(name: string, story: Uint8Array, interpreter: Interpreter) {
    this.#name = name;
    const library = interpreter.library();
    const machine = interpreter.machine();
    const options = { vm: machine, Glk: library, GlkOte: this.#screen(), Dialog: noFiles };
    this.#guarded(() => {
      machine.prepare(story, options);
      library.init(options);
      this.#toLine();
    });
  }

  /** The text printed since the last command, without its echo and the prompt. */
  take(command = ''): string {
    const text = this.#printed.trimStart();
    this.#printed = '';
    return (text.startsWith(command) ? text.slice(command.length) : text)
      .replace(/\s*>?\s*$/, '')
      .trimStart();
  }

  /** The status line above the text. */
  get status(): string {
    return this.#status;
  }

  /** True if the story no longer waits for input. */
  get ended(): boolean {
    return this.#input?.length === 0;
  }

  /** @returns the printed text. @throws EnvironmentError if the story stops with an error */
  send(command: string): string {
    this.#guarded(() => {
      const { id } = this.#input![0]!;
      this.#library.accept({ type: 'line', gen: this.#generation, window: id, value: command });
      this.#toLine();
    });
    return this.take(command);
  }

  /** Answers requests for a key or a file, which players can't give. */
  #toLine(): void {
    while (this.#asksForFile || this.#input?.[0]?.type === 'char') {
      const gen = this.#generation;
      if (this.#asksForFile) {
        this.#asksForFile = false;
        this.#library.accept({ type: 'specialresponse', gen, response: 'fileref_prompt', value: null });
      } else {
        this.#library.accept({ type: 'char', gen, window: this.#input![0]!.id, value: ' ' });
      }
    }
  }

  #screen() {
    return {
      init: (library: Library) => {
        this.#library = library;
        library.accept({ type: 'init', gen: 0, metrics: { ...metrics, ...margins, ...spaces }, support: [] });
      },
      update: (update: Update) => this.#update(update),
      getinterface: () => this.#library,
      log: () => undefined,
      warning: () => undefined,
      error: (message: string) => {
        throw new Error(message);
      },
    };
  }

  #update({ type, gen, message, content = [], input, specialinput }: Update): void {
    if (type === 'error') throw new Error(message);
    if (gen !== undefined) this.#generation = gen;
    for (const { lines, text = [] } of content) {
      if (lines !== undefined) this.#status = lines.map((line) => textOf(line.content)).join('\n');
      for (const { append, content: runs } of text) this.#printed += (append ? '' : '\n') + textOf(runs);
    }
    if (input !== undefined) this.#input = input;
    if (type === 'exit') this.#input = [];
    this.#asksForFile = specialinput !== undefined;
  }

  #guarded(run: () => void): void {
    try {
      run();
    } catch (error) {
      throw new EnvironmentError('raised', `${this.#name}: the story stops: ${String(error)}`);
    }
  }
}

function textOf(runs: Runs = []): string {
  let text = '';
  for (let i = 0; i < runs.length; i++) {
    const run = runs[i]!;
    // A style precedes its text.
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
