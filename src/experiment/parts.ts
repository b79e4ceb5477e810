/** The state and components of a run, built from an assembly and a run directory. */
import { commit, version } from '../base/package.js';
import type { Config } from '../config/config.js';
import { isByBaseline, languageModelOf } from '../config/model.js';
import { isBuiltInId } from '../environments/catalogue/open.js';
import type { EnvironmentSpec } from '../environments/environment.js';
import type { LanguageModel } from '../models/language-model.js';
import type { ParameterVector } from '../policies/policy.js';
import { programsOf } from '../policies/policy.js';
import { BehaviourTest } from '../rollout/behaviour-test.js';
import type { EvaluationSetting } from '../rollout/evaluation.js';
import { createReplayBuffer, type ReplayBuffer } from '../rollout/replay-buffer.js';
import { type CallRecord, type EndedCall, mostRejections, stageOf } from '../runs/calls.js';
import { firstFaults, type LoggedEvent, type ProposalTally, type RunEvent, tallyOf } from '../runs/events.js';
import { fixedSettings } from '../runs/fingerprint.js';
import type { Manifest, RecordedSpec } from '../runs/manifest.js';
import { addPrograms } from '../runs/open-run.js';
import type { RunDirectory } from '../runs/writer.js';
import { findBaseline } from '../search/baselines.js';
import type { Assembly } from './assemble.js';
import { Ledger } from './budget/ledger.js';
import type { SharedBudget } from './budget/limits.js';
import { countedBy, countedOthers } from './budget/usage.js';
import { type Critic, openCritic } from './critic-parts.js';
import { Prompter } from './prompter.js';
import { languageModelIn, type Proposer } from './proposer.js';

/** Everything that the outer loop reads or changes while it runs. */
export interface Experiment {
  readonly run: string;
  readonly config: Config;
  readonly seed: number;
  readonly setting: EvaluationSetting;
  readonly model: Proposer;
  /** The model that reads prompts, possibly a portfolio member; undefined if only baselines propose. */
  readonly languageModel: LanguageModel | undefined;
  /** True if a baseline is the only proposer, here or in the replayed run. A baseline answers with plain parameters. */
  readonly isBaseline: boolean;
  readonly prompter: Prompter;
  /** Finds programs that behave like earlier ones; undefined for other policies. */
  readonly behaviour: BehaviourTest | undefined;
  /** Revises the best proposals; undefined if there is no critic. */
  readonly critic: Critic | undefined;
  readonly buffer: ReplayBuffer;
  /** Parameters from an earlier run, evaluated first. */
  readonly imported: readonly ParameterVector[];
  readonly ledger: Ledger;
  /** Trains the model on the scores of its answers; undefined if the model isn't trained. */
  /** Counts of proposal outcomes in earlier processes. */
  readonly tally: ProposalTally;
  /** The last complete iteration; 0 for a new run. */
  completed: number;
  /** Calls of the iterations that an earlier process did not finish. */
  readonly unfinishedCalls: readonly CallRecord[];
  /** Answers that an earlier process received and counted but didn't interpret. */
  readonly arrived: readonly EndedCall[];
  /** Tally of accepted and rejected replies, across all processes. */
  readonly replies: Replies;
  /** How the model's proposal calls have gone in this process. */
  readonly asked: AskedSoFar;
  /** Records a request before it is sent; undefined if calls are free. */
  readonly ask: RunDirectory['ask'] | undefined;
  /** Active time of this run in milliseconds, across all processes. */
  readonly activeMs: () => number;
  /** The budget that the run shares with the other runs of a sweep, if it is limited. */
  readonly shared: SharedBudget | undefined;
  readonly emit: (event: RunEvent) => void;
  /** Emits a warning once per run; warnings that differ only in numbers count as equal. */
  readonly warn: (message: string) => void;
  readonly onFault: ReturnType<typeof firstFaults>;
  /** Makes emitted events durable in the background; see `RunDirectory`. */
  readonly commit: () => Promise<void>;
  readonly now: () => Date;
}

interface AskedSoFar {
  /** True once a call was answered, or failed for a reason other than the network. */
  isReached: boolean;
  isAnswered: boolean;
  /** Error message of the last failed call; undefined if none has failed. */
  lastError: string | undefined;
}

/** Whether a periodic stage runs in this iteration. */
export const isDue = (
  stage: { readonly config: { readonly every: number } } | undefined,
  iteration: number,
): boolean => stage !== undefined && iteration % stage.config.every === 0;

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

/** Longer lists of names aren't recorded, which keeps the manifest small. */
const mostNames = 1000;

/** Records the spaces of an environment, and what their numbers mean, for readers that don't have the environment. */
function specOf({ observationSpace, actionSpace, maxSteps, words = {} }: EnvironmentSpec): RecordedSpec {
  const { actionNames, observationNames } = words;
  return {
    ...{ observationSpace, actionSpace, ...(maxSteps !== undefined && { maxSteps }) },
    ...(observationNames && observationNames.length <= mostNames && { observationNames }),
    ...(actionNames && actionNames.length <= mostNames && { actionNames }),
  };
}

/** Records the description of a module's policy for readers that don't have the module. */
function policyOf({ family: { description, parameters } }: Assembly): Pick<Manifest, 'policy'> {
  if (description.kind !== 'module') return {};
  const { name, text } = description;
  return { policy: { name, text, parameters } };
}

/** Restores an experiment from its run directory, whose logs are empty for a new run. */
export function experimentIn(
  assembly: Assembly,
  directory: RunDirectory,
  outside: Pick<Experiment, 'activeMs' | 'emit' | 'now'>,
): Experiment {
  const { config, environment, family, model, workers } = assembly;
  const { recorded, manifest } = directory;
  const { arrived = [] } = recorded;
  const buffer = createReplayBuffer(recorded.entries);
  const setting: EvaluationSetting = {
    ...{ environment, family, maxSteps: config.evaluation.maxSteps, record: config.record, workers },
  };
  const programs = programsOf(family);
  addPrograms(family, recorded.entries);
  const ledger = ledgerOf(assembly);
  // A shared budget already includes the recorded calls.
  const isHeld = assembly.sharedBudget !== undefined;
  const isBaseline = findBaseline(assembly.counted.provider) !== undefined;
  const replies = new Replies(isBaseline);
  const unfinishedCalls: CallRecord[] = [];
  for (const call of recorded.calls) {
    ledger.record(call, isHeld);
    if (call.iteration > recorded.iteration) {
      unfinishedCalls.push(call);
      if (call.outcome.kind === 'accepted' && call.outcome.program) programs?.add(call.outcome.program);
    } else replies.count(call);
  }
  for (const call of arrived) ledger.record(call, isHeld);
  return {
    run: manifest.run,
    config,
    seed: manifest.seed,
    setting,
    behaviour: programs && new BehaviourTest(setting, recorded.episodes),
    model,
    languageModel: languageModelIn(model),
    isBaseline,
    critic: openCritic(assembly),
    prompter: new Prompter({ ...assembly, buffer, recorded }),
    buffer,
    imported: assembly.imported,
    ledger,
    tally: tallyOf(recorded.events),
    completed: recorded.iteration,
    shared: assembly.sharedBudget,
    unfinishedCalls,
    arrived,
    replies,
    asked: { isReached: false, isAnswered: false, lastError: undefined },
    ask: isPaid(config) ? (request) => directory.ask(request) : undefined,
    warn: warnOnce(outside.emit, recorded.events),
    onFault: firstFaults(outside.emit),
    commit: () => directory.commit(),
    ...outside,
  };
}

/** True if calls cost money or compute time, so none should be repeated. */
const isPaid = ({ critic, model }: Config) =>
  model.provider !== 'replayed' &&
  [model, critic?.model].some((one) => one !== undefined && languageModelOf(one) !== undefined);

/** Creates an empty ledger. */
export function ledgerOf({
  config,
  counted: model,
  countedBeside,
  sharedBudget,
}: Pick<Assembly, 'config' | 'counted' | 'countedBeside' | 'sharedBudget'>): Ledger {
  const beside = countedOthers(countedBeside);
  return new Ledger({ ...countedBy(model), limits: config.limits, sharedBudget, beside });
}

/** @param earlier the run's log so far; its warnings aren't repeated */
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

class Replies {
  readonly #isBaseline: boolean;
  /** True once any proposal, including a baseline's, has been accepted. */
  isAnyAccepted = false;
  isModelAccepted = false;
  /** Number of the model's rejected replies, including replies to corrections. */
  rejected = 0;
  /** The first of the model's replies that was rejected. */
  first: CallRecord | undefined;

  /** @param isBaseline true if only a baseline proposes; its replies don't count as a model's */
  constructor(isBaseline: boolean) {
    this.#isBaseline = isBaseline;
  }

  /** Counts a call's outcome; ignores calls other than proposals. */
  count(call: CallRecord): void {
    if (stageOf(call) !== 'proposal') return;
    const isModel = !this.#isBaseline && !isByBaseline(call);
    if (call.outcome.kind === 'accepted') {
      this.isAnyAccepted = true;
      this.isModelAccepted ||= isModel;
    }
    if (call.outcome.kind !== 'rejected' || !isModel) return;
    this.rejected++;
    this.first ??= call;
  }

  /** Number of replies that may still be rejected; infinite once a proposal has been accepted. */
  get left(): number {
    return this.isAnyAccepted ? Number.POSITIVE_INFINITY : mostRejections - this.rejected;
  }
}
