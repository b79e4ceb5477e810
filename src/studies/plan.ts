/** Many runs that belong together: repeats, controls, an evaluation, a sweep, a collection. */
import { requireCount } from '../base/context.js';
import { UserError } from '../base/errors.js';
import type { Config } from '../config/config.js';
import type { Part } from './part.js';
import type { PlanEnd } from './slurm/part-ends.js';

/** One run of a plan. It is data, so that any thread or process can play it. */
export interface PlanEntry {
  /** Directory of the run below the plan's. */
  readonly path: string;
  /** Resolved, with the run's own seed and `repeats: 1`. A collection computes it when it is read. */
  readonly config: Config;
  /** Labels that tell it from other runs of a study. */
  readonly experiment?: string;
  readonly arm?: string;
  /** From 0; results are written whenever all runs of a repeat have ended. */
  readonly repeat?: number;
}

export interface Plan<Entry extends PlanEntry = PlanEntry> {
  readonly kind: 'repeats' | 'controls' | 'evaluation' | 'sweep' | 'models' | 'collection';
  /** In the order in which they begin. */
  readonly entries: readonly Entry[];
  /** Runs of the same directory that are not played here, and whose usage counts for `limits.total` too. */
  readonly before?: readonly Entry[];
  /** Whether any config has `limits.total`, which all runs of the plan share. */
  readonly sharesLimits: boolean;
  /** After a failure, runs with the same value of this label are left out; `others` names those that go on. */
  readonly afterFailure?: { readonly label: 'experiment' | 'arm'; readonly others: string };
  /** The factors of the number of runs, for the first line of progress. */
  readonly shape?: string;
  /** Notes of the import of the config, for the log of each run. */
  readonly notes?: readonly string[] | undefined;
}

/** Options that say how runs are played and shown. */
export interface PlayArguments {
  /** Runs that are played at once; 1 where it is not said. */
  readonly jobs?: number | undefined;
  readonly json: boolean;
  readonly quiet: boolean;
  /** Plays a part of the runs, beside other processes that play the others. */
  readonly part?: Part | undefined;
  /** Takes the plan over where there is something left of it. */
  readonly elsewhere?: Elsewhere | undefined;
}

/** Has the runs of a plan played elsewhere; undefined while others are at it. */
export type Elsewhere = (plan: Plan, directory: string) => Promise<PlanEnd | undefined>;

/** @throws UserError unless `--jobs` is a count */
export function requireJobs({ jobs }: PlayArguments): void {
  requireCount('--jobs', jobs, 1);
}

/**
 * Thousands of short runs: none gets a report, one of a control is on disk for good at its end only, and one that a
 * crash of the machine has torn starts anew.
 */
export const isBulk = ({ kind }: Pick<Plan, 'kind'>) => kind === 'collection';

/** Models are compared by how often their replies are rejected, too: a run without a proposal is no failure there. */
export const countsRejections = ({ kind }: Pick<Plan, 'kind'>) => kind === 'models';

/** @throws UserError where the runs of a plan would ask a person */
export function refusePersons(plan: Plan): void {
  const { entries } = plan;
  // Those of a collection differ in their tasks alone, and are computed as they are read.
  const isAsking = entries
    .slice(0, isBulk(plan) ? 1 : entries.length)
    .some(({ config: { feedback, model } }) => feedback?.from === 'person' && model.provider !== 'replayed');
  if (!isAsking) return;
  throw new UserError({
    field: 'feedback.from',
    value: 'person',
    message: `a person is asked by a run that is played alone, not by the ${entries.length} of a plan: they would say the same of many, and know one from the other`,
    alternatives: ['vision'],
    remedy: 'policyloop run plays one; or set feedback.from to vision, or feedback= to leave it out',
  });
}
