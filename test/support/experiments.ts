import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandContext } from '../../src/base/context.js';
import { createGenerator } from '../../src/base/random/generator.js';
import type { ConfigInput } from '../../src/config/config.js';
import { loadConfig, parseConfig } from '../../src/config/load.js';
import { type Assembly, assemble } from '../../src/experiment/setup/assemble.js';
import type { LanguageModel } from '../../src/models/language-model.js';
import { formatValue } from '../../src/prompting/notation/grammar.js';
import { languageModelProposer } from '../../src/proposers/language-model.js';
import type { Proposer } from '../../src/proposers/proposer.js';
import type { RunEvent } from '../../src/runs/events.js';
import { readImportedPolicies, runFiles } from '../../src/runs/reader.js';
import { type RunDirectory, resumeRunDirectory } from '../../src/runs/writer.js';
import { executeRun, startRun } from '../../src/studies/run.js';
import { createScriptedModel, type ScriptedModel } from './scripted-model.js';
import { temporaryDirectory } from './temporary-directory.js';

export { temporaryDirectory };

/** A config that plays quickly. */
export const quick = {
  environment: 'CartPole-v1',
  iterations: 6,
  warmup: 3,
  evaluation: { episodes: 3, maxSteps: 60 },
  confirmation: { candidates: 2, episodes: 5 },
} as const;

const never = new AbortController().signal;

/** One that ticks a second a look as well, whatever the time of day. */
function tickingMilliseconds(): () => number {
  let time = 0;
  return () => (time += 1000);
}

/** A clock that ticks a second a look. */
export function tickingClock(): () => Date {
  let time = Date.UTC(2026, 0, 1);
  return () => {
    time += 1000;
    return new Date(time);
  };
}

export interface PlayOptions {
  readonly path?: string;
  /** Instead of the config's model. */
  readonly model?: LanguageModel | Proposer;
  /** Instead of the config's critic. */
  readonly critic?: LanguageModel;
  readonly finish?: AbortSignal;
  readonly abort?: AbortSignal;
  readonly onEvent?: (event: RunEvent) => void;
  readonly env?: Readonly<Record<string, string>>;
  /** The time of day. */
  readonly now?: () => Date;
  /** A clock that only goes forwards. */
  readonly milliseconds?: () => number;
}

/** Options of a run that is asked to finish with an iteration. */
export function stopAfter(iteration: number) {
  const stop = new AbortController();
  const onEvent = (event: RunEvent) =>
    event.kind === 'iteration-finished' && event.iteration === iteration && stop.abort();
  return { finish: stop.signal, onEvent };
}

async function play(assembly: Assembly, directory: RunDirectory, options: PlayOptions) {
  const events: RunEvent[] = [];
  const sink = (event: RunEvent) => {
    events.push(event);
    options.onEvent?.(event);
  };
  const now = tickingClock();
  await executeRun(
    { assembly, directory },
    { show: sink, close: () => undefined },
    {
      now: options.now ?? now,
      milliseconds: options.milliseconds ?? tickingMilliseconds(),
      stop: { finish: options.finish ?? never, abort: options.abort ?? never },
    },
  );
  return { path: directory.path, events };
}

function withModel(assembly: Assembly, { model }: PlayOptions): Assembly {
  if (model === undefined) return assembly;
  return { ...assembly, proposer: 'propose' in model ? model : languageModelProposer(model) };
}

/** Runs an experiment to its end in a new directory. */
export async function runExperimentFrom(config: ConfigInput, options: PlayOptions = {}) {
  const { critic, env = {} } = options;
  const assembly = await assemble(parseConfig(config), env, undefined, { stages: critic && { critic } });
  const chosen = withModel(assembly, options);
  const path = options.path ?? join(temporaryDirectory(), 'run');
  return play(chosen, startRun(chosen, path, { now: tickingClock() }), options);
}

/** Goes on with a run. */
export async function resumeExperiment(
  path: string,
  options: PlayOptions & { readonly overrides?: readonly string[] } = {},
) {
  const { config } = loadConfig({ file: join(path, runFiles.config), overrides: options.overrides ?? [] });
  const { critic, env = {} } = options;
  const assembly = await assemble(config, env, readImportedPolicies(path), { stages: critic && { critic } });
  const chosen = withModel(assembly, options);
  return play(chosen, resumeRunDirectory(path, tickingClock()), options);
}

export const readRunFile = (path: string, file: keyof typeof runFiles) =>
  readFileSync(join(path, runFiles[file]), 'utf8');

/** The evaluations and the episodes of a run, as written. */
export const resultsOf = (path: string) =>
  (['evaluations', 'episodes'] as const).map((file) => readRunFile(path, file));

/** A model whose answer depends on nothing but its seed: valid ones, and some broken in each way, `wrong` of all. */
export function seededModel(wrong = 0): ScriptedModel {
  return createScriptedModel(({ options }) => {
    const random = createGenerator(options.seeds[0]!);
    const { closing = '', labels, number } = options.grammar!;
    const answer = `${labels
      .map((label) => `${label}${formatValue(random.uniform(number.low, number.high), number.decimals)}`)
      .join('')}${closing}`;
    if (random.random() >= wrong) return `${answer}\nA step from the best.`;
    const broken = [
      'I do not know.',
      answer.slice(0, answer.length / 2),
      answer.replace(/(?<=: \[?)-?\d[\d.]*/, '99'),
      '',
    ];
    return random.choice(broken);
  });
}

/** A command's context that keeps what was printed. */
export function recordingContext(cwd: string, changes: Partial<CommandContext> = {}) {
  const printed: string[] = [];
  const noted: string[] = [];
  const context: CommandContext = {
    print: (text) => printed.push(text),
    note: (text) => noted.push(text),
    terminal: undefined,
    env: {},
    cwd,
    now: tickingClock(),
    milliseconds: tickingMilliseconds(),
    stop: { finish: never, abort: never },
    ...changes,
  };
  return { context, printed, noted };
}
