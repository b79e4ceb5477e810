/** What a command of the command line is, and the options that many commands share. */
import type { Argv } from 'yargs';
import type { CommandContext } from './context.js';

type CamelCase<K> = K extends `${infer Head}-${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : K;

type Unchanging<V> = V extends readonly (infer E)[] ? readonly E[] : V;

type Declared<Options> = Options extends (y: never) => Argv<infer T> ? T : never;

/** The arguments that a function `options` declares; `--run-dir` is `runDir`, and one without a default may be left out. */
export type Arguments<Options, T = Declared<Options>> = {
  readonly [K in keyof T as undefined extends T[K] ? never : CamelCase<K>]: Unchanging<T[K]>;
} & {
  readonly [K in keyof T as undefined extends T[K] ? CamelCase<K> : never]?: Unchanging<T[K]>;
};

/** What a file of `commands/` exports. `cli.ts` loads it when the command is named, so that `--help` stays quick. */
export interface Command<T> {
  /** Declares arguments, options and examples; the type of `execute`'s first argument follows from it. */
  options(y: Argv): Argv<T>;
  /** @returns the exit code */
  execute(args: Arguments<unknown, T>, context: CommandContext): number | Promise<number>;
  /** What the first Ctrl-C lets it still do, as it is then said; left out where a Ctrl-C simply ends it. */
  readonly finishing?: string;
}

/** A line of `--help`: the words after the program's name, what the command is for, and its file. */
export type ListedCommand = readonly [
  signature: string,
  describe: string,
  load: () => Promise<Command<unknown>>,
];

const text = { type: 'string', requiresArg: true } as const;
const number = { type: 'number', requiresArg: true } as const;
const flag = { type: 'boolean', default: false } as const;

/** Options by what they hold: `y.option('top', { ...number, default: 10, describe: '…' })`. */
export const kinds = { text, number, flag } as const;

/** Options that mean the same in every command. */
export const common = {
  config: { type: 'string', demandOption: true, describe: 'Config file, or the name of a bundled config' },
  run: {
    type: 'string',
    demandOption: true,
    describe: 'Run: its directory, its name or the start of it, its number in policyloop list, or latest',
  },
  runs: {
    type: 'string',
    array: true,
    demandOption: true,
    describe: 'Runs, directories of runs (repeats, controls, evaluations), or quoted patterns',
  },
  labelled: {
    type: 'string',
    demandOption: true,
    describe: 'Run, training or directory of runs, by any of its names, or a quoted pattern',
  },
  overrides: {
    type: 'string',
    array: true,
    default: [],
    describe: 'key=value, e.g. model.name=qwen3:8b',
  },
  runDir: { ...text, describe: 'Directory of this run (default: a new one below --runs-dir)' },
  runsDir: { ...text, default: 'buffers', describe: 'Directory that holds the runs' },
  out: {
    ...text,
    describe: 'Directory of the runs and the result (default: one below --runs-dir, the same each time)',
  },
  workers: {
    ...number,
    describe: "Threads (for gymnasium:, processes) that play episodes (default: the config's)",
  },
  jobs: { ...number, describe: 'Runs to play at once (default: 1)' },
  slurm: { type: 'boolean', describe: 'Submit the runs to Slurm; later, report their progress and result' },
  part: { ...text, describe: 'Play every nth run, as 0/4, 1/4, …; other processes play the others' },
  wait: { ...number, default: 10, describe: 'Seconds to wait until it is done' },
  open: { type: 'boolean', describe: 'Open the page in the browser' },
  quiet: { ...flag, describe: 'Show no progress' },
  json: { ...flag, describe: 'Print JSON for machines' },
  ignoreKeys: {
    ...text,
    describe: "Unknown keys of a model's or an adapter's config that change nothing: a,b",
  },
  /** For commands that take time. */
  jsonLines: { ...flag, describe: 'Print events as JSON lines; the last line is the result' },
  jsonRuns: { ...flag, describe: 'Print a JSON line for each run; the last line is the result' },
} as const;

/** Options of the commands that play many runs. */
export const manyRuns = {
  out: common.out,
  'runs-dir': common.runsDir,
  jobs: common.jobs,
  slurm: common.slurm,
  part: common.part,
  quiet: common.quiet,
  json: common.jsonRuns,
} as const;

/** The same with a seed. */
export const studyOptions = <T>(y: Argv<T>) =>
  y.options({ seed: { ...number, describe: "First seed (default: the first config's)" }, ...manyRuns });

/** Config file and overrides as positional arguments. */
export const configArguments = <T>(y: Argv<T>, config: string, overrides: string) =>
  y
    .positional('config', { type: 'string', demandOption: true, describe: config })
    .positional('overrides', { ...common.overrides, describe: overrides });

/** Options of the commands that train. */
export const trainingOptions = <T>(y: Argv<T>) =>
  y
    .option('slurm', {
      type: 'boolean',
      describe: 'Submit it to Slurm (slurm.time=… etc. as key=value), or show how far it is there',
    })
    .option('open', { ...common.open, describe: 'Open its page, which updates itself, in the browser' })
    .option('quiet', common.quiet)
    .option('json', { ...flag, describe: 'Events as JSON lines; the last line is the result' });

/** `--ignore-keys a,b` as a list; undefined where it was not given. */
export const listed = (text: string | undefined): readonly string[] | undefined =>
  text?.split(',').map((part) => part.trim());

/** `--workers 2` is short for `evaluation.workers=2`. */
export const withWorkers = (overrides: readonly string[], workers: number | undefined): readonly string[] =>
  workers === undefined ? overrides : [...overrides, `evaluation.workers=${workers}`];
