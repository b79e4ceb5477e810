/** Reads training-run directories, to list and show them. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { checkedValue, readOwnJson } from '../../base/files/files.js';
import { readJsonLines } from '../../base/files/json-lines.js';
import { isLocked } from '../../base/files/lock.js';
import { formatCount, formatReturn, plural } from '../../base/text/numbers.js';
import { mean, sum } from '../../statistics/descriptive.js';
import { trainingFiles } from '../training-files.js';

export interface RecordedTraining {
  readonly kind: 'training';
  readonly path: string;
  /** `crashed`: the training run didn't end, but no process holds its lock. */
  readonly status: 'running' | 'crashed' | 'interrupted' | 'failed' | 'completed';
  /** Why the run failed, or a note that it ended before its last step; null otherwise. */
  readonly note: string | null;
  /** Path of the trained model, or a description of a numeric policy; null if unknown. */
  readonly model: string | null;
  /** `lora`, `full`, `scratch`, or another trainer's name for its method; null if unknown. */
  readonly method: string | null;
  /** `sft`, `dpo`, `grpo`, `ppo`, … */
  readonly objective: string | null;
  /** The dataset or the environment. */
  readonly on: string | null;
  /** Optimizer steps, or updates of reinforcement learning. */
  readonly unit: 'step' | 'update';
  readonly steps: { readonly done: number; readonly of: number };
  /** The best evaluation, which selects the result's weights unless the config sets `result: last`. */
  readonly best: Measurement | null;
  readonly first: Measurement | null;
  /** Mean returns on fresh episodes, also of a numeric policy's baselines; for a proposer, mean score of fresh runs. */
  readonly final: readonly { readonly name: string; readonly meanReturn: number }[];
  /** Training episodes; null if there are none. */
  readonly episodes: number | null;
  /** Tokens sampled or read; null for numeric policies and before the first step. */
  readonly tokens: number | null;
  readonly seconds: number;
  readonly alarms: readonly {
    readonly step: number;
    readonly message: string;
    readonly hint: string | null;
  }[];
  /** ISO 8601; null if the training run never started. */
  readonly started: string | null;
  /** Directory of the adapter, model or policy; null until training has produced its result. */
  readonly result: string | null;
  /** Command that starts and resumes it; null if it isn't recorded. */
  readonly command: string | null;
  /** Working directory of that command. */
  readonly folder: string | null;
  /** Command that uses the result, which may exist before the last validation; null if there is none. */
  readonly use: string | null;
}

/** The best evaluation of a training run, as text for lists; null without one. */
export function bestMeasurementText({ best, unit }: Pick<RecordedTraining, 'best' | 'unit'>): string | null {
  return best && `${best.name} ${measurementText(best)} at ${unit} ${formatCount(best.step)}`;
}

/** Formats losses with four decimals, because differences in the third decimal matter. */
export const measurementText = ({ kind, value }: Pick<Measurement, 'kind' | 'value'>): string =>
  kind === 'loss' ? value.toFixed(4) : formatReturn(value);

/** Examples: ` over 8 episodes`, ` over 8 runs` (for proposers); empty for a loss. */
export const episodesText = ({ episodes, name }: Pick<Measurement, 'episodes' | 'name'>): string =>
  episodes === undefined ? '' : ` over ${plural(episodes, name.endsWith('mean return') ? 'episode' : 'run')}`;

/** A held-out return or score (higher is better), or a validation loss. */
export interface Measurement {
  readonly step: number;
  readonly kind: 'return' | 'loss';
  /** What was measured, such as `validation loss`. */
  readonly name: string;
  readonly value: number;
  /** Half the width of the 95% interval. */
  readonly margin?: number;
  readonly episodes?: number;
}

const sourceShape = z.looseObject({
  run: z.string(),
  environment: z.string(),
  model: z.string(),
  seed: z.number(),
  kept: z.number(),
  split: z.string(),
});

const aboutShape = z.looseObject({
  method: z.string(),
  base: z.looseObject({ model: z.string() }),
  dataset: z.looseObject({
    path: z.string(),
    // These fields are only shown, so damaged values are dropped.
    recipe: z.string().nullish().catch(null),
    sources: z.array(sourceShape).nullish().catch(null),
    files: z.record(z.string(), z.string()).optional().catch(undefined),
    changed: z.boolean().optional().catch(undefined),
  }),
  config: z.looseObject({
    objective: z.looseObject({ kind: z.string() }).optional(),
    /** Present in every reinforcement-learning config. */
    updates: z.number().optional(),
    algorithm: z.looseObject({ kind: z.string() }).optional(),
  }),
  outcome: z.looseObject({
    ended: z.string(),
    step: z.number(),
    message: z.string().optional(),
    hint: z.string().optional(),
  }),
  command: z.string().optional(),
  folder: z.string().optional(),
  use: z.string().optional(),
});

/** The content of `training.json`. */
export type TrainingAbout = z.output<typeof aboutShape>;

/** JSON writes null for non-finite numbers. */
const amount = z
  .number()
  .nullish()
  .transform((value) => value ?? undefined);

/** The fields read from a line of metrics. */
const metricShape = z.looseObject({
  kind: z.string(),
  step: z.number(),
  seconds: z.number().default(0),
  time: z.string().optional(),
  totalSteps: amount,
  work: amount,
  episodes: amount,
  tokens: amount,
  sampledTokens: amount,
  reward: amount,
  meanReward: amount,
  bestReturn: amount,
  margin: amount,
  loss: amount,
  best: z.unknown().optional(),
  returns: z.array(z.number()).optional(),
  /** Name of the figure that evaluations measure. */
  measured: z
    .string()
    .regex(/^[a-z ]{1,60}$/)
    .optional()
    .catch(undefined),
  label: z.string().optional(),
  message: z.string().optional(),
  hint: z.string().optional(),
});

export type TrainingMetric = z.output<typeof metricShape>;

/** A line of metrics; undefined if it is malformed. */
export const parseMetric = (line: unknown): TrainingMetric | undefined => metricShape.safeParse(line).data;

export interface TrainingRecords {
  readonly summary: RecordedTraining;
  /** Undefined if training hasn't started. */
  readonly about: TrainingAbout | undefined;
  readonly metrics: readonly TrainingMetric[];
}

/** @throws UserError if its files are damaged */
export const readTraining = (path: string): RecordedTraining => readTrainingFiles(path).summary;

/** @throws UserError if its files are damaged */
export function readTrainingFiles(path: string): TrainingRecords {
  const aboutFile = join(path, trainingFiles.about);
  const raw = readOwnJson(aboutFile);
  const about = raw === undefined ? undefined : checkedValue(aboutShape, raw, aboutFile);
  const file = join(path, trainingFiles.metrics);
  const metrics = (readJsonLines<unknown>(file, { repair: false }) ?? []).map((line, i) =>
    checkedValue(metricShape, line, file, { prefix: `line ${i + 1}: ` }),
  );
  return summarizeTraining(path, about, metrics, isLocked(join(path, trainingFiles.lock)));
}

/** @param hasLock true while a process holds the lock of the training run */
export function summarizeTraining(
  path: string,
  about: TrainingAbout | undefined,
  metrics: readonly TrainingMetric[],
  hasLock: boolean,
): TrainingRecords {
  const config = about?.config;
  const steps = metrics.filter(({ kind }) => kind === 'step');
  const lastStep = steps.at(-1);
  const isRl = metrics.some(({ kind, reward }) => kind === 'step' && reward !== undefined);
  const start = metrics.findLast(({ kind }) => kind === 'start');
  const measurements = metrics.flatMap((metric) => measurementsIn(metric, start?.measured));
  const stepsDone = lastStep?.step ?? about?.outcome.step ?? 0;
  const result = ['adapter', 'model', 'policy']
    .map((name) => join(path, name))
    .find((folder) => existsSync(folder));
  const status = statusOf(hasLock, about?.outcome.ended);
  const summary: RecordedTraining = {
    kind: 'training',
    path,
    status,
    note: about?.outcome.message ?? (about?.outcome.ended === 'early' ? 'ended before its last step' : null),
    model: about?.base.model ?? null,
    method: about?.method ?? null,
    objective: about ? ((config?.algorithm ?? config?.objective)?.kind ?? 'sft') : null,
    on: about?.dataset.path ?? null,
    unit: config?.updates === undefined && !isRl ? 'step' : 'update',
    steps: { done: stepsDone, of: start?.totalSteps ?? stepsDone },
    best: measurements.findLast(({ isBest }) => isBest)?.measurement ?? null,
    first: measurements[0]?.measurement ?? null,
    final: metrics.flatMap(({ kind, label, returns }) =>
      returns === undefined || returns.length === 0
        ? []
        : [{ name: kind === 'final' ? 'this policy' : (label ?? kind), meanReturn: mean(returns) }],
    ),
    episodes: lastStep?.episodes ?? (start?.episodes === undefined ? null : start.episodes * steps.length),
    tokens: steps.some(({ tokens }) => tokens !== undefined)
      ? steps.reduce((sum, { sampledTokens, tokens = 0 }) => sum + (sampledTokens ?? tokens), 0)
      : null,
    seconds: metrics.reduce((sum, { seconds }) => sum + seconds, 0),
    alarms: metrics.flatMap(({ kind, message, hint, step }) =>
      kind === 'alarm' && message !== undefined ? [{ step, message, hint: hint ?? null }] : [],
    ),
    started: metrics[0]?.time ?? null,
    result: status === 'completed' || about?.use !== undefined ? (result ?? null) : null,
    command: about?.command ?? null,
    folder: about?.folder ?? null,
    use: about?.use ?? null,
  };
  return { summary, about, metrics };
}

/** The current status: a training run recorded as `running` has crashed if no process holds its lock. */
function statusOf(hasLock: boolean, ended: string | undefined): RecordedTraining['status'] {
  if (hasLock) return 'running';
  if (ended === 'interrupted' || ended === 'failed') return ended;
  return ended === undefined || ended === 'running' ? 'crashed' : 'completed';
}

function measurementsIn(
  { best, episodes, kind, loss, margin, meanReward, step }: TrainingMetric,
  name = 'mean return',
): readonly { readonly measurement: Measurement; readonly isBest: boolean }[] {
  const details = { ...(margin !== undefined && { margin }), ...(episodes !== undefined && { episodes }) };
  const measurement: Measurement | undefined =
    kind === 'evaluation' && meanReward !== undefined
      ? { step, kind: 'return', name: `held-out ${name}`, value: meanReward, ...details }
      : kind === 'validation' && loss !== undefined
        ? { step, kind: 'loss', name: 'validation loss', value: loss }
        : undefined;
  return measurement ? [{ measurement, isBest: best === true }] : [];
}

/** Number of latest steps from which the remaining time is estimated. */
const recentStepCount = 20;

/** Estimates the remaining seconds from the speed of recent work; undefined before the first step. */
export function secondsLeftOf(
  metrics: readonly (Pick<TrainingMetric, 'kind' | 'seconds'> &
    Partial<Pick<TrainingMetric, 'tokens' | 'totalSteps' | 'work'>>)[],
): number | undefined {
  const start = metrics.findLast(({ kind }) => kind === 'start');
  const total = start?.work ?? start?.totalSteps;
  const steps = metrics.filter(
    ({ kind, work }) => kind === 'step' || (kind !== 'start' && work !== undefined),
  );
  const recentSteps = steps.slice(-recentStepCount);
  if (total === undefined || recentSteps.length === 0) return undefined;
  const workOf = (part: typeof steps) =>
    sum(part.map(({ tokens = 0, work = tokens }) => (start?.work === undefined ? 1 : work)));
  return (sum(recentSteps.map(({ seconds }) => seconds)) / workOf(recentSteps)) * (total - workOf(steps));
}
