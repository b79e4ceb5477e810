import { z } from 'zod';
import { type EnvironmentSpec, recordedSpace } from '../environments/environment.js';
import type { AnswerFormat } from '../models/language-model.js';
import type { ModuleHashes } from '../modules/sources.js';
import { type RecordedPolicy, recordedPolicy } from '../policies/module-policy.js';
import type { ParameterVector } from '../policies/policy.js';
import type { RacingTotals } from '../rollout/replay-buffer.js';
import type { Cap, UsageTotals } from './calls.js';
import type { Confirmation, StopReason } from './events.js';

/** The description of an environment, without its id. In the file an infinite bound is null. */
export type RecordedSpec = Omit<EnvironmentSpec, 'id' | 'words'>;

/** `manifest.json`: the state of a run in one small file. */
export interface Manifest {
  readonly version: 1;
  /** Name of the run directory. */
  readonly run: string;
  /** `running` on disk with no process holding the lock means that it crashed. */
  readonly status: 'running' | 'completed' | 'interrupted' | 'failed';
  /** A `running` one waits for policyloop resume. */
  readonly paused?: true;
  /** Why it ended; absent while running. */
  readonly reason?: StopReason;
  /** ISO 8601. */
  readonly created: string;
  readonly updated: string;
  /** Time spent running, over all resumptions, in milliseconds. */
  readonly activeMs: number;
  readonly versions: { readonly policyloop: string; readonly node: string; readonly commit?: string };
  readonly environment: string;
  /** Only for an environment that is not built in, so that the run can be read without it. */
  readonly spec?: RecordedSpec;
  /** Only for policies that are not built in, for the same reason. */
  readonly policy?: RecordedPolicy;
  readonly model: string;
  /** With `model.format: auto`: how the last proposal was held to its form; absent otherwise, and in older runs. */
  readonly format?: AnswerFormat;
  /** SHA-256 of what must not change between a run and its resumption. */
  readonly fingerprint: string;
  /** The settings of the config that must not change either, by dotted key; absent in runs of older versions. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** SHA-256 of the prompt templates. */
  readonly prompts: string;
  /** SHA-256 of each file of the modules that the config names; absent without any. */
  readonly modules?: ModuleHashes;
  /** Root seed of this run (of this repeat). */
  readonly seed: number;
  readonly iterations: { readonly done: number; readonly of: number };
  readonly best?: {
    readonly iteration: number;
    readonly candidate: number;
    readonly return: number;
    readonly parameters: ParameterVector;
  };
  readonly confirmations: readonly Confirmation[];
  /** The savings of racing, at the end; absent without `evaluation.racing`. */
  readonly racing?: RacingTotals;
  readonly usage: UsageTotals;
  /** The use of each limit; absent without any. */
  readonly caps?: readonly Cap[];
  /** Only of games that an agent plays (`policyloop play`): `iterations` then counts games. */
  readonly play?: PlaySummary;
}

/** Who plays, and how it went so far. */
interface PlaySummary {
  readonly player: string;
  /** Mean return of the games; absent before the first. */
  readonly meanReturn?: number;
  readonly ci95?: readonly [number, number] | null;
  /** Mean score of the games of a text world. */
  readonly meanScore?: number;
  readonly scoreCi95?: readonly [number, number] | null;
}

/** Earlier versions recorded a return that overflowed as null; it is then as if there were none. */
const overflowing = z.number().nullable();

/** The parts that make a file a manifest; the others are not checked. */
export const manifestShape = z.looseObject({
  version: z.literal(1),
  run: z.string(),
  status: z.enum(['running', 'completed', 'interrupted', 'failed']),
  created: z.string(),
  environment: z.string(),
  spec: z
    .object({ observationSpace: recordedSpace, actionSpace: recordedSpace, maxSteps: z.int().optional() })
    .optional(),
  policy: recordedPolicy.optional(),
  model: z.string(),
  fingerprint: z.string(),
  modules: z.record(z.string(), z.string()).optional(),
  seed: z.number(),
  iterations: z.looseObject({ done: z.number(), of: z.number() }),
  best: z
    .looseObject({ iteration: z.number(), candidate: z.number(), return: overflowing })
    .optional()
    .transform((best) => (best?.return === null ? undefined : best)),
  confirmations: z
    .array(z.looseObject({ stage: z.string(), mean: overflowing, ci95: z.tuple([overflowing, overflowing]) }))
    .transform((all) => all.filter(({ mean, ci95 }) => mean !== null && !ci95.includes(null))),
  usage: z.looseObject({ calls: z.number(), promptTokens: z.number(), completionTokens: z.number() }),
});

/** `group.json`: a directory whose sub-directories are repeats of one experiment. */
export const groupShape = z.looseObject({
  version: z.literal(1),
  /** Root seed of each repeat. */
  seeds: z.array(z.number()),
  /** Sub-directory of each repeat. */
  runs: z.array(z.string().regex(/^repeat-\d+$/)),
  /** Notes of the import of the config. */
  notes: z.array(z.string()).optional(),
});
