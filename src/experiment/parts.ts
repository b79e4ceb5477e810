/** The parts that the outer loop works with, made from an assembly and a run directory. */

import { commit, version } from '../base/package.js';
import type { Config } from '../config/config.js';
import { languageModelOf } from '../config/model.js';
import { isBuiltInId } from '../environments/catalogue/open.js';
import type { EnvironmentSpec } from '../environments/environment.js';
import type { LanguageModel } from '../models/language-model.js';
import type { ParameterVector } from '../policies/policy.js';
import type { EvaluationSetting } from '../rollout/evaluation.js';
import type { Racing } from '../rollout/racing.js';
import { createReplayBuffer, type ReplayBuffer } from '../rollout/replay-buffer.js';
import type { CallRecord, EndedCall } from '../runs/calls.js';
import { type LoggedEvent, type ProposalTally, type RunEvent, tallyOf } from '../runs/events.js';
import { fixedSettings } from '../runs/fingerprint.js';
import type { Manifest, RecordedSpec } from '../runs/manifest.js';
import type { RunDirectory } from '../runs/writer.js';
import { findControl } from '../search/controls.js';
import { createScreening, type Screening } from '../search/screening.js';
import type { Assembly } from './assemble.js';
import { countedBy, countedOthers } from './budget/counted.js';
import { Ledger } from './budget/ledger.js';
import { Replies } from './budget/replies.js';
import { type Critic, openCritic } from './critic/parts.js';
import type { FeedbackParts } from './feedback-parts.js';
import type { Learner } from './learning/learner.js';
import { Prompter } from './prompter.js';
import { languageModelIn, type Proposer } from './proposer/proposer.js';

/** Everything a run needs. */
export interface Experiment {
  /** Name of the run. */
  readonly run: string;
  /** Another one where something of it was changed meanwhile. */
  config: Config;
  /** Root seed of this run. */
  readonly seed: number;
  readonly setting: EvaluationSetting;
  /** Undefined where all episodes are played. */
  readonly racing: Racing | undefined;
  readonly model: Proposer;
  /** The model that reads prompts: a portfolio's, too. Undefined where only controls propose. */
  readonly languageModel: LanguageModel | undefined;
  /** Whether a control alone proposes, or did so in the run that is replayed: it answers in no form but parameters. */
  readonly isControl: boolean;
  readonly prompter: Prompter;
  /** Revises the best proposals; undefined where nothing does. */
  readonly critic: Critic | undefined;
  /** Tells what an episode shows; undefined where nobody is asked. */
  readonly feedback: FeedbackParts | undefined;
  readonly buffer: ReplayBuffer;
  /** Chooses the proposals that are evaluated; undefined where all are. */
  readonly screening: Screening | undefined;
  /** Parameters of an earlier run, to be evaluated first. */
  readonly imported: readonly ParameterVector[];
  readonly ledger: Ledger;
  /** Trains the model on what its answers earn; undefined where it stays as it is. */
  readonly learner: Learner | undefined;
  /** How the proposals of earlier processes fared. */
  readonly tally: ProposalTally;
  /** The last complete iteration: 0 for a new run. */
  completed: number;
  /** Calls of an iteration that an earlier process did not finish. */
  readonly unfinishedCalls: readonly CallRecord[];
  /** Answers of that iteration of which nothing was made yet; they are counted. */
  readonly arrived: readonly EndedCall[];
  /** Replies of complete iterations, in all processes. */
  readonly replies: Replies;
  /** What this process asked the model for. */
  readonly asked: AskedSoFar;
  /** Notes a request before it is sent; undefined where calls cost nothing. */
  readonly ask: RunDirectory['ask'] | undefined;
  /** Milliseconds spent on this run, by earlier processes too. */
  readonly activeMs: () => number;
  /** Milliseconds of the other runs that share its limits. */
  readonly otherMs: number;
  readonly emit: (event: RunEvent) => void;
  /** Warns of each thing once a run, whatever its figures. */
  readonly warn: (message: string) => void;
  /** Makes what was emitted durable. */
  readonly commit: () => Promise<void>;
  /** Does what other processes ask of this run, and waits while it is paused. */
  readonly heed: () => Promise<void>;
  readonly now: () => Date;
}

/** What became of the calls of one process. */
interface AskedSoFar {
  /** Whether its server was ever there, be it with an error. */
  isReached: boolean;
  /** Whether it ever gave an answer. */
  isAnswered: boolean;
  /** The message of the last call that failed. */
  lastError: string | undefined;
}

/** The two ways in which a user ends a run early. */
export interface StopRequests {
  /** Finish the iteration, then close. */
  readonly finish: AbortSignal;
  /** Stop now. */
  readonly abort: AbortSignal;
}

/** The manifest of a run that is about to start. */
export function newManifest(assembly: Assembly, run: string, now: Date): Manifest {
  const { config, environment, model, prompts } = assembly;
  const head = commit();
  return {
    version: 1,
    run,
    status: 'running',
    created: now.toISOString(),
    updated: now.toISOString(),
    activeMs: 0,
    versions: { policyloop: version(), node: process.versions.node, ...(head && { commit: head }) },
    environment: environment.id,
    ...(!isBuiltInId(config.environment.id) && { spec: specOf(environment) }),
    ...policyOf(assembly),
    model: model.id,
    fingerprint: assembly.fingerprint,
    settings: fixedSettings(config),
    prompts: prompts.hash,
    ...(assembly.modules && { modules: assembly.modules }),
    seed: config.seed,
    iterations: { done: 0, of: config.iterations },
    confirmations: [],
    usage: ledgerOf(assembly).totals,
  };
}

/** The description of an environment, kept for a reader of the run who may not have the environment. */
function specOf({ observationSpace, actionSpace, maxSteps }: EnvironmentSpec): RecordedSpec {
  return { observationSpace, actionSpace, ...(maxSteps !== undefined && { maxSteps }) };
}

/** Policies of a module, kept for the same reader. */
function policyOf({ family: { description, parameters } }: Assembly): Pick<Manifest, 'policy'> {
  if (description.kind !== 'module') return {};
  const { name, text } = description;
  return { policy: { name, text, parameters } };
}

/** An experiment that continues what the run directory holds (nothing, for a new run). */
export function experimentIn(
  assembly: Assembly,
  directory: RunDirectory,
  outside: Pick<Experiment, 'activeMs' | 'emit' | 'now'> &
    Partial<Pick<Experiment, 'feedback' | 'heed' | 'learner'>>,
): Experiment {
  const { config, environment, family, model, racing, workers } = assembly;
  const { recorded, manifest } = directory;
  const { arrived = [] } = recorded;
  const buffer = createReplayBuffer(recorded.entries);
  const ledger = ledgerOf(assembly);
  // A budget that is shared holds them already.
  const isHeld = assembly.sharedBudget !== undefined;
  const isControl = findControl(assembly.counted.provider) !== undefined;
  const replies = new Replies(isControl);
  const unfinishedCalls: CallRecord[] = [];
  for (const call of recorded.calls) {
    ledger.record(call, isHeld);
    if (call.iteration > recorded.iteration) unfinishedCalls.push(call);
    else replies.count(call);
  }
  for (const call of arrived) ledger.record(call, isHeld);
  return {
    run: manifest.run,
    config,
    seed: manifest.seed,
    setting: { environment, family, maxSteps: config.evaluation.maxSteps, record: config.record, workers },
    racing,
    model,
    languageModel: languageModelIn(model),
    isControl,
    critic: openCritic(assembly),
    prompter: new Prompter({ ...assembly, buffer, recorded }),
    buffer,
    screening: config.screening && createScreening(config.screening.evaluate),
    imported: assembly.imported,
    ledger,
    tally: tallyOf(recorded.events),
    completed: recorded.iteration,
    get otherMs() {
      return assembly.sharedBudget?.otherMs ?? 0;
    },
    unfinishedCalls,
    arrived,
    replies,
    asked: { isReached: false, isAnswered: false, lastError: undefined },
    ask: isPaid(config) ? (request) => directory.ask(request) : undefined,
    warn: warnOnce(outside.emit, recorded.events),
    commit: () => directory.commit(),
    learner: undefined,
    feedback: undefined,
    heed: async () => undefined,
    ...outside,
  };
}

/** Whether calls cost something that must not be spent twice: money, or the time of a machine. */
export const isPaid = ({ critic, feedback, model }: Config) =>
  model.provider !== 'replayed' &&
  [model, critic?.model, feedback?.model].some(
    (one) => one !== undefined && languageModelOf(one) !== undefined,
  );

/** A ledger that has counted nothing yet. */
export function ledgerOf({
  config,
  counted: model,
  countedBeside,
  sharedBudget,
}: Pick<Assembly, 'config' | 'counted' | 'countedBeside' | 'sharedBudget'>): Ledger {
  const beside = countedOthers({ ...countedBeside, model });
  return new Ledger({ ...countedBy(model), limits: config.limits, sharedBudget, beside });
}

/** @param earlier what the run logged so far: its warnings are not given again */
function warnOnce(emit: Experiment['emit'], earlier: Iterable<LoggedEvent>): Experiment['warn'] {
  const keyOf = (message: string) => message.replaceAll(/\d+/g, '#');
  const given = new Set<string>();
  for (const event of earlier) if (event.kind === 'warning') given.add(keyOf(event.message));
  return (message) => {
    if (given.has(keyOf(message))) return;
    given.add(keyOf(message));
    emit({ kind: 'warning', message });
  };
}
