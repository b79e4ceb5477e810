import { z } from 'zod';
import type { ModuleHashes } from '../base/modules/sources.js';
import { commitHash, packageVersion } from '../base/package.js';
import { type EnvironmentSpec, type EnvironmentTexts, spaceSchema } from '../environments/environment.js';
import type { AnswerFormat } from '../models/language-model.js';
import { type RecordedPolicy, recordedPolicySchema } from '../policies/module-policy.js';
import type { Candidate } from '../rollout/replay-buffer.js';
import type { LimitUsage, UsageTotals } from './calls.js';
import type { Confirmation, Noise, StopReason } from './events.js';

/**
 * The specification of an environment without its id. In the file, infinite bounds are null. `description` is '' if the
 * environment names its components but has no description.
 */
export type RecordedSpec = Omit<EnvironmentSpec, 'id' | 'words'> & EnvironmentTexts;

/** `manifest.json`: the state of a run in one small file. */
export interface Manifest {
  readonly version: 1;
  /** Name of the run directory. */
  readonly run: string;
  /** If this is `running` but no process holds the run's lock, the run has crashed. */
  readonly status: 'running' | 'completed' | 'interrupted' | 'failed';
  /** Why the run ended; absent while it is running, and after an unexpected error. */
  readonly reason?: StopReason;
  /** ISO 8601. */
  readonly created: string;
  readonly updated: string;
  /** Active time in milliseconds, summed over all processes. */
  readonly activeMs: number;
  readonly versions: { readonly policyloop: string; readonly node: string; readonly commit?: string };
  readonly environment: string;
  /** Data needed to show the run and to write its prompts again, if its environment isn't built in. */
  readonly spec?: RecordedSpec;
  /** Absent if the policies are built in. */
  readonly policy?: RecordedPolicy;
  readonly model: string;
  /** With `model.format: auto`: the answer format of the last reply for a proposal. */
  readonly format?: AnswerFormat;
  /** SHA-256 of everything that must not change when the run is resumed. */
  readonly fingerprint: string;
  /** Settings that must not change, by dotted key. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** SHA-256 of the prompt templates. */
  readonly prompts: string;
  /** SHA-256 of each file of the user's modules, by path. */
  readonly modules?: ModuleHashes;
  /** Root seed of this run. */
  readonly seed: number;
  readonly iterations: { readonly done: number; readonly of: number };
  readonly best?: BestCandidate;
  readonly confirmations: readonly Confirmation[];
  /** Measured after the warm-up, and again at the end. */
  readonly noise?: Noise;
  readonly usage: UsageTotals;
  /** The amount used of each limit. */
  readonly caps?: readonly LimitUsage[];
  /** Present only for an agent run; `iterations` then counts games. */
  readonly play?: PlaySummary;
}

/** A candidate with its mean return. */
export interface BestCandidate extends Candidate {
  readonly return: number;
}

/** The fields of a new run's manifest that don't depend on the kind of run. */
export function manifestHead(
  run: string,
  now: Date,
): Pick<Manifest, 'version' | 'run' | 'status' | 'created' | 'updated' | 'activeMs' | 'versions'> {
  const hash = commitHash();
  return {
    version: 1,
    run,
    status: 'running',
    created: now.toISOString(),
    updated: now.toISOString(),
    activeMs: 0,
    versions: { policyloop: packageVersion(), node: process.versions.node, ...(hash && { commit: hash }) },
  };
}

interface PlaySummary {
  readonly player: string;
  readonly meanReturn?: number;
  readonly ci95?: readonly [number, number] | null;
  /** This and the next field are present only for text worlds. */
  readonly meanScore?: number;
  readonly scoreCi95?: readonly [number, number] | null;
}

/** The fields to check; all others are kept as they are. */
export const manifestShape = z.looseObject({
  version: z.literal(1),
  run: z.string(),
  status: z.enum(['running', 'completed', 'interrupted', 'failed']),
  created: z.string(),
  environment: z.string(),
  spec: z
    .object({
      observationSpace: spaceSchema,
      actionSpace: spaceSchema,
      maxSteps: z.int().optional(),
      stepSeconds: z.number().positive().optional(),
      description: z.string().optional(),
      observationNames: z.array(z.string()).optional(),
      actionNames: z.array(z.string()).optional(),
    })
    .optional(),
  policy: recordedPolicySchema.optional(),
  model: z.string(),
  fingerprint: z.string(),
  settings: z.record(z.string(), z.unknown()),
  modules: z.record(z.string(), z.string()).optional(),
  seed: z.number(),
  iterations: z.looseObject({ done: z.number(), of: z.number() }),
  best: z.looseObject({ iteration: z.number(), candidate: z.number(), return: z.number() }).optional(),
  confirmations: z.array(
    z.looseObject({
      stage: z.string(),
      mean: z.number(),
      ci95: z.tuple([z.number(), z.number()]).nullable(),
    }),
  ),
  noise: z.looseObject({ floor: z.number(), episodes: z.number(), lead: z.number() }).optional(),
  usage: z.looseObject({ calls: z.number(), promptTokens: z.number(), completionTokens: z.number() }),
});
