/** Builds a run's state and components from an assembly and a run directory. */
import { languageModelOf } from '../../config/model.js';
import { isBuiltInId } from '../../environments/catalogue/open.js';
import type { EnvironmentSpec } from '../../environments/environment.js';
import { programsOf } from '../../policies/policy.js';
import { Ledger, runUsageConfig } from '../../proposers/budget.js';
import { BehaviorTest } from '../../rollout/behavior-test.js';
import type { EvaluationSetup } from '../../rollout/evaluation.js';
import { createReplayBuffer } from '../../rollout/replay-buffer.js';
import type { CallRecord } from '../../runs/calls.js';
import { faultReporter, type LoggedEvent, type RunEvent, tallyOf } from '../../runs/events.js';
import { fixedSettings } from '../../runs/fingerprint.js';
import { type Manifest, manifestHead, type RecordedSpec } from '../../runs/manifest.js';
import { addPrograms } from '../../runs/open-run.js';
import type { RunDirectory } from '../../runs/writer.js';
import type { Experiment, RunClock, RunProgress } from '../parts.js';
import { Prompter } from '../prompter.js';
import { countCall } from '../propose.js';
import type { Assembly } from './assemble.js';

export function newManifest(assembly: Assembly, run: string, now: Date): Manifest {
  const { config, environment, prompts, proposer } = assembly;
  return {
    ...manifestHead(run, now),
    environment: environment.id,
    ...(!isBuiltInId(config.environment.id) && { spec: specOf(environment) }),
    ...policyOf(assembly),
    model: proposer.id,
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
const maxNames = 1000;

/** Records an environment for readers that don't have it. */
function specOf(spec: EnvironmentSpec): RecordedSpec {
  const { observationSpace, actionSpace, maxSteps, stepSeconds, words } = spec;
  const names = [words?.observationNames, words?.actionNames];
  const isShort = names.every((list = []) => list.length <= maxNames);
  return {
    observationSpace,
    actionSpace,
    ...(maxSteps !== undefined && { maxSteps }),
    ...(stepSeconds !== undefined && { stepSeconds }),
    ...(words && isShort && { description: '', ...words }),
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
  { emit, ...clock }: RunClock & { readonly emit: (event: RunEvent) => void },
): Experiment {
  const { config, environment, family, proposer, workers } = assembly;
  const { recorded, manifest } = directory;
  const buffer = createReplayBuffer(recorded.entries);
  const setting: EvaluationSetup = {
    environment,
    family,
    maxSteps: config.evaluation.maxSteps,
    record: config.record,
    workers,
  };
  const programs = programsOf(family);
  addPrograms(family, recorded.entries);
  const ledger = ledgerOf(assembly);
  const progress: RunProgress = {
    lastIteration: recorded.iteration,
    memberTurns: new Map(),
    reachedPurposes: new Set(),
    isAnswered: false,
    isAnyAccepted: false,
    isModelAccepted: false,
    rejected: 0,
  };
  const earlierCalls: CallRecord[] = [];
  for (const call of recorded.calls) {
    ledger.record(call);
    countCall(progress, call, true);
    if (call.iteration <= recorded.iteration) continue;
    earlierCalls.push(call);
    if (call.outcome.kind === 'accepted' && call.outcome.program) programs?.add(call.outcome.program);
  }
  return {
    config: { ...config, seed: manifest.seed },
    setting,
    proposer,
    prompter: new Prompter({ ...assembly, buffer, recorded }),
    behavior: new BehaviorTest(setting, recorded.episodes),
    stages: assembly.stages.flatMap((stage) => stage.open(assembly) ?? []),
    imported: assembly.imported,
    buffer,
    progress,
    ledger,
    earlierCalls,
    tally: tallyOf(recorded.events),
    log: {
      run: manifest.run,
      emit,
      warn: warnOnce(emit, recorded.events),
      onFault: faultReporter(emit),
      send: isPaid(assembly) ? (lost) => directory.send(lost) : undefined,
      commit: () => directory.commit(),
    },
    clock,
  };
}

/** True if calls cost money or compute time, so none should be repeated. */
const isPaid = ({ config: { model }, stages }: Assembly) =>
  model.provider !== 'replayed' &&
  [model, ...stages.map((stage) => stage.model?.config)].some(
    (one) => one !== undefined && languageModelOf(one) !== undefined,
  );

/** Creates an empty ledger. */
export function ledgerOf({
  config,
  countedModel,
  countedStages,
  sharedBudget,
}: Pick<Assembly, 'config' | 'countedModel' | 'countedStages' | 'sharedBudget'>): Ledger {
  return new Ledger({ ...runUsageConfig(countedModel, countedStages), limits: config.limits, sharedBudget });
}

/** @param events the run's log so far; its warnings aren't repeated */
function warnOnce(emit: (event: RunEvent) => void, earlier: Iterable<LoggedEvent>) {
  const keyOf = (message: string) => message.replaceAll(/\d+/g, '#');
  const emittedWarnings = new Set<string>();
  for (const event of earlier) if (event.kind === 'warning') emittedWarnings.add(keyOf(event.message));
  return (message: string) => {
    if (emittedWarnings.has(keyOf(message))) return;
    emittedWarnings.add(keyOf(message));
    emit({ kind: 'warning', message });
  };
}
