/**
 * Plans a comparison of models. Each contestant makes one proposal from each history, as a run with a single iteration.
 * All contestants get the same histories, and their proposals are evaluated on the same episodes.
 */

import { createHash } from 'node:crypto';
import { basename, extname, join, relative, resolve } from 'node:path';
import { UserError } from '../../base/errors.js';
import type { Config } from '../../config/config.js';
import { loadConfig } from '../../config/load.js';
import type { ModelConfig } from '../../config/model.js';
import { plural } from '../../format/numbers.js';
import { repeatSeeds } from '../../random/seeds.js';
import { findNamed } from '../../runs/listing/names.js';
import { readEvaluations, readManifest } from '../../runs/reader.js';
import { baselineArm, findBaseline, requireBaseline } from '../../search/baselines.js';
import { plainName } from '../../storage/files.js';
import type { Plan, PlanEntry } from '../plan.js';
import { refuseOverrides } from '../study.js';
import { overridesOf, type Setting, type SweptKey, settingsOf, sweptBy } from '../sweep/settings.js';

export type ContestantKind = 'model' | 'baseline';

/** `random`: policies of a random warm-up. `recorded`: policies of an earlier run, evaluated again. */
export type HistoryKind = 'random' | 'recorded';

export interface Contestant {
  /** Name of the contestant's directory. */
  readonly name: string;
  readonly label: string;
  readonly kind: ContestantKind;
  /** Resolved config; each run uses the seed and the warm-up of its history. */
  readonly config: Config;
}

export interface History {
  /** Name of the history's directory inside each contestant's directory. */
  readonly name: string;
  readonly kind: HistoryKind;
  readonly seed: number;
  /** Present for recorded histories. */
  readonly warmup?: Config['warmup'];
}

export interface ModelsPlan {
  /** Name of the config file without its extension. */
  readonly name: string;
  readonly contestants: readonly Contestant[];
  readonly histories: readonly History[];
  readonly notes: readonly string[];
}

export interface ModelsRequest {
  readonly config: string;
  /** `key=value`; a list of values creates a contestant for each. */
  readonly overrides: readonly string[];
  /** Number of random histories. */
  readonly histories: number;
  /** Comma-separated runs: `RUN`, or `RUN@20` for its first 20 iterations. */
  readonly from?: string | undefined;
  /** Comma-separated baselines; empty for none. */
  readonly baselines: string;
  readonly runsDir: string;
}

const oneProposal =
  'each contestant makes one proposal per history; set the number of histories with --histories';

const reserved: Readonly<Record<string, string>> = {
  iterations: oneProposal,
  candidates: oneProposal,
  repeats: oneProposal,
  'warmup.from': 'use --from RUN to add the history of a run',
};

/** Overrides that make every run end after one proposal, which is evaluated in full. */
const fixed: readonly string[] = [
  ...['iterations=1', 'candidates=1', 'repeats=1', 'confirmation.candidates=0', 'evaluation.racing='],
  ...[
    'target=',
    'limits.evaluations=',
    'limits.rejections=0',
    'screening=',
    'pipeline=',
    'critic=',
    'feedback=',
    'adapt=',
  ],
];

/** Sections that can differ between contestants; the others define the histories. */
const varying = ['model', 'prompts', 'memory', 'proposal', 'novelty', 'corrections', 'demonstrations'];

/** @throws UserError if a config can't be used, or contestants would get different histories */
export function planModels(request: ModelsRequest, cwd: string): ModelsPlan {
  const { config: file, overrides } = request;
  refuseOverrides(overrides, reserved);
  const swept = sweptBy(undefined, overrides);
  if (swept.seeds !== undefined)
    throw new UserError({
      field: 'seed',
      message: 'must be a single number: the seed of the first history, from which the others are derived',
      remedy: 'use, for example, seed=1 --histories 20',
    });
  refuseOtherKeys(swept.keys);
  const notes = new Set<string>();
  let read = file;
  const load = (texts: readonly string[]): Config => {
    const loaded = loadConfig({ file, overrides: [...texts, ...fixed], cwd, forSweep: true });
    for (const note of loaded.notes) if (!note.startsWith('model.provider=')) notes.add(note);
    read = loaded.file;
    return loaded.config;
  };
  const models = settingsFor(swept.keys, () => load(swept.fixed).model).map((setting) => {
    const config = load(overridesOf(setting, swept.fixed));
    return { setting, config, ...labelled(setting, config.model) };
  });
  const others = swept.fixed.filter((text) => !/^(model|proposal|novelty)[.=]/.test(text));
  const names = request.baselines.split(',').map((name) => name.trim());
  const baselines = [...new Set(names)].flatMap((text): Contestant[] => {
    if (text === '') return [];
    const { label, name: control, overrides: own } = baselineArm(requireBaseline('--baselines', text));
    // The prefix prevents a clash with a model called `random`.
    const name = `baseline-${control}`;
    return [{ name, label, kind: 'baseline', config: load([...own, 'proposal=', 'novelty=', ...others]) }];
  });
  const contestants = [...distinctly(models), ...baselines];
  const histories = historiesOf(request, contestants[0]!.config, cwd);
  return {
    name: plainName(basename(read, extname(read)), 'config'),
    contestants,
    histories,
    notes: [...notes],
  };
}

function refuseOtherKeys(keys: readonly SweptKey[]): void {
  const other = keys.find(({ key }) => !varying.includes(key.split('.')[0]!));
  if (other === undefined) return;
  throw new UserError({
    field: other.key,
    message: "can't vary: all contestants get the same histories",
    alternatives: varying,
    remedy: 'to compare whole runs with different values of any key, use policyloop sweep',
  });
}

/**
 * All combinations of values. If both `model.path` and `model.name` vary, each path and each name is a
 * separate model.
 * @param written returns the config's model
 */
function settingsFor(keys: readonly SweptKey[], written: () => ModelConfig): readonly Setting[] {
  const settings = (of: readonly SweptKey[]) => settingsOf({ method: 'grid', keys: {} }, of);
  const isNamed = (name: string) => keys.some(({ key }) => key === name);
  if (!isNamed('model.path')) return settings(keys);
  const isLocal = 'path' in written() || written().provider === 'local';
  const local = ({ name, values }: Setting): Setting =>
    isLocal ? { name, values } : { name, values: { 'model.provider': 'local', ...values } };
  const paths = settings(keys.filter(({ key }) => key !== 'model.name')).map(local);
  return isNamed('model.name')
    ? [...paths, ...settings(keys.filter(({ key }) => key !== 'model.path'))]
    : paths;
}

interface Labelled {
  readonly setting: Setting;
  readonly config: Config;
  /** The model's name; `others` contains the values of varying keys that don't identify it. */
  readonly model: string;
  readonly others: string;
}

function labelled({ values }: Setting, model: ModelConfig): Pick<Labelled, 'model' | 'others'> {
  const others = Object.entries(values)
    .filter(([key]) => !/^model(\.(path|name|provider))?$/.test(key))
    .map(([key, value]) => `${key.slice(key.lastIndexOf('.') + 1)} ${value}`);
  return { model: modelName(model), others: others.join(', ') };
}

function modelName(model: ModelConfig): string {
  if ('name' in model && model.name !== undefined) return model.name;
  if ('path' in model && model.path !== undefined) return basename(model.path);
  return model.provider === 'local'
    ? 'embedded model'
    : (findBaseline(model.provider)?.label ?? model.provider);
}

/**
 * Labels each contestant with the model's name and its other varying values, or with its setting's name if that label
 * isn't unique; directories are named in the same way.
 */
function distinctly(models: readonly Labelled[]): readonly Contestant[] {
  const labels = models.map(({ model, others }) => (others === '' ? model : `${model}, ${others}`));
  const names = models.map(({ setting }, i) => {
    const [hash = ''] = /-[0-9a-f]{8}$/.exec(setting.name) ?? [];
    return plainName(labels[i]!, 'model') + hash;
  });
  const chosen = (all: readonly string[], i: number) =>
    all.filter((text) => text === all[i]).length === 1 ? all[i]! : models[i]!.setting.name;
  return models.map(({ config }, i) => ({
    ...{ name: chosen(names, i), label: chosen(labels, i) },
    kind: 'model',
    config,
  }));
}

function historiesOf(
  { from, histories, runsDir }: ModelsRequest,
  { seed, warmup }: Config,
  cwd: string,
): readonly History[] {
  const seeds = histories === 0 ? [] : repeatSeeds(seed, histories);
  const random = seeds.map((own): History => ({ name: `seed-${own}`, kind: 'random', seed: own }));
  const recorded = (from ?? '')
    .split(',')
    .flatMap((text) => (text.trim() === '' ? [] : recordedHistory(text.trim(), seed, { cwd, runsDir })));
  const all = [...random, ...recorded];
  if (all.length === 0)
    throw new UserError({
      field: '--histories',
      message: 'there are no histories, so models have nothing to improve',
      value: histories,
      remedy: 'pass --histories 20 or --from RUN',
    });
  if (random.length > 0 && warmup.policies === 0)
    throw new UserError({
      field: 'warmup.policies',
      value: 0,
      message: 'is 0, so random histories would be empty',
      remedy: 'set warmup=20, or pass --histories 0 --from RUN',
    });
  return [...new Map(all.map((history) => [history.name, history])).values()];
}

function recordedHistory(
  text: string,
  seed: number,
  places: { readonly cwd: string; readonly runsDir: string },
): History {
  const [, run = text, iteration] = /^(.+)@(\d+)$/.exec(text) ?? [];
  const { path } = findNamed(run, places, ['run']);
  const manifest = readManifest(path);
  const { done } = manifest.iterations;
  const until = iteration === undefined ? done : Number(iteration);
  const refuse = (message: string, remedy: string) =>
    new UserError({ field: '--from', value: text, message, remedy });
  if (until > done)
    throw refuse(
      `that run has ${plural(done, 'complete iteration')}`,
      `use ${run}@${done}, or ${run} for all of them`,
    );
  if (!readEvaluations(path, manifest).some((entry) => entry.iteration <= until))
    throw refuse(
      'that run has no evaluations up to this iteration',
      until < done ? `choose a later iteration, up to ${run}@${done}` : 'choose another run',
    );
  const name = plainName(`${relative(resolve(places.cwd, places.runsDir), path)}-${until}`, 'run');
  // The seed doesn't depend on the other histories.
  const own = createHash('sha256').update(`${seed} ${name}`).digest().readUInt32BE();
  return { name, kind: 'recorded', seed: own, warmup: { policies: 0, from: path, until } };
}

export interface ModelRun extends PlanEntry {
  /** Name of the run's contestant. */
  readonly arm: string;
  /** Index of the run's history. */
  readonly repeat: number;
}

/** Orders runs by history, so that an interrupted comparison still has complete pairs. */
function runsOf({ contestants, histories }: ModelsPlan): readonly ModelRun[] {
  return histories.flatMap(({ name: history, seed, warmup }, repeat) =>
    contestants.map(({ name: arm, config }) => ({
      ...{ arm, repeat },
      path: join(arm, history),
      config: { ...config, seed, ...(warmup && { warmup }) },
    })),
  );
}

export function planOf(models: ModelsPlan): Plan<ModelRun> {
  const entries = runsOf(models);
  return {
    kind: 'models',
    entries,
    sharesLimits: entries.some(({ config }) => config.limits.total !== undefined),
    afterFailure: { label: 'arm', others: 'the other models' },
    shape: `${plural(models.contestants.length, 'contestant')} × ${models.histories.length} ${models.histories.length === 1 ? 'history' : 'histories'}`,
    notes: models.notes,
  };
}
