/** Runs an experiment in memory, for measurements that keep only summary figures of many runs. */
import process from 'node:process';
import type { Config } from '../../src/config/config.js';
import { languageModelOf } from '../../src/config/model.js';
import type { Environment } from '../../src/environments/environment.js';
import { type Assembly, assemble, closeEnvironment } from '../../src/experiment/assemble.js';
import { runExperiment } from '../../src/experiment/experiment.js';
import { type Experiment, experimentIn, newManifest } from '../../src/experiment/parts.js';
import { Prompter } from '../../src/experiment/prompter.js';
import type { LanguageModel } from '../../src/models/language-model.js';
import type { EvaluationSetting } from '../../src/rollout/evaluation.js';
import type { BufferEntry } from '../../src/rollout/replay-buffer.js';
import type { CallRecord } from '../../src/runs/calls.js';
import type { StopReason } from '../../src/runs/events.js';
import { nothingRecorded } from '../../src/runs/reader.js';
import type { RunDirectory } from '../../src/runs/writer.js';

/** Overrides for the prompts that the tiny improver was trained on, without recording. */
export const compactRun: readonly string[] = [
  'prompts={set: compact}',
  'memory={best: 8, recent: 4}',
  'confirmation.candidates=0',
  'record=none',
  'evaluation.workers=1',
];

/** Overrides that select a model directory as a run's model. */
export const localModel = (directory: string): readonly string[] => [
  'model.provider=local',
  `model.path=${directory}`,
  'model.threads=1',
  'model.device=cpu',
  'model.maxTokens=512',
];

export interface Played {
  readonly reason: StopReason;
  /** In the order of their evaluation. */
  readonly entries: readonly BufferEntry[];
  readonly calls: readonly CallRecord[];
  /** For further evaluations, until `close` is called. */
  readonly setting: EvaluationSetting;
  close(): Promise<void>;
}

/** Models that stay loaded between runs. */
export class LoadedModels {
  readonly #models = new Map<string, LanguageModel>();

  /** Returns the loaded model of this name; if there is none, loads `model`. */
  async share(name: string, model: LanguageModel): Promise<LanguageModel> {
    const known = this.#models.get(name);
    if (known !== undefined) return known;
    await model.open?.();
    this.#models.set(name, model);
    return model;
  }

  async close(): Promise<void> {
    for (const model of this.#models.values()) await model.close?.();
    this.#models.clear();
  }
}

/**
 * @param modelName name of the model in `models`
 * @param changes `environment` replaces the config's; `told` returns the evaluations that prompts show
 */
export async function play(
  config: Config,
  models: LoadedModels,
  modelName: string,
  changes: {
    readonly environment?: Environment | undefined;
    readonly told?: ((entries: readonly BufferEntry[]) => readonly BufferEntry[]) | undefined;
  } = {},
): Promise<Played> {
  const started = performance.now();
  const { environment, told } = changes;
  const assembly = await assemble(config, process.env, undefined, { environment });
  // Don't share a baseline: it is cheap to create, and may have state of its run.
  const shared =
    languageModelOf(config.model) !== undefined && assembly.model.generate !== undefined
      ? await models.share(modelName, assembly.model)
      : undefined;
  const calls: CallRecord[] = [];
  const own = experimentIn(assembly, nowhere(assembly), {
    emit: (event) => event.kind === 'call-finished' && calls.push(event.call),
    activeMs: () => performance.now() - started,
    now: () => new Date(),
  });
  const truthful = { ...own, model: shared ?? assembly.model };
  const experiment =
    told === undefined ? truthful : { ...truthful, prompter: toldBy(truthful, assembly, told) };
  const never = new AbortController().signal;
  const { reason } = await runExperiment(experiment, { finish: never, abort: never });
  return {
    reason,
    entries: experiment.buffer.entries,
    calls,
    setting: experiment.setting,
    close: () => closeEnvironment(assembly),
  };
}

/** Returns a prompter that shows `told(entries)` instead of the evaluations. */
function toldBy(
  { buffer }: Pick<Experiment, 'buffer'>,
  assembly: Assembly,
  told: (entries: readonly BufferEntry[]) => readonly BufferEntry[],
): Prompter {
  const shown = {
    ...buffer,
    get entries() {
      return told(buffer.entries);
    },
  };
  return new Prompter({ ...assembly, buffer: shown, recorded: nothingRecorded });
}

/** A run directory that stores nothing. */
function nowhere(assembly: Assembly): RunDirectory {
  const nothing = () => undefined;
  return {
    path: '',
    manifest: newManifest(assembly, 'unrecorded', new Date()),
    recorded: nothingRecorded,
    record: nothing,
    update: nothing,
    ask: async () => ({ lost: nothing, answered: nothing }),
    commit: async () => undefined,
    close: async () => undefined,
  };
}

/** Results of first answers, without corrections. */
export interface FirstAnswers {
  readonly asked: number;
  /** Number of refused answers, by kind of failure. */
  readonly failures: Readonly<Record<string, number>>;
}

export function firstAnswers(calls: readonly CallRecord[]): FirstAnswers {
  const first = calls.filter(({ attempt }) => attempt === 0);
  const failures: Record<string, number> = {};
  for (const { outcome } of first) {
    if (outcome.kind === 'accepted') continue;
    const kind = outcome.kind === 'rejected' ? outcome.failure.kind : outcome.error;
    failures[kind] = (failures[kind] ?? 0) + 1;
  }
  return { asked: first.length, failures };
}
