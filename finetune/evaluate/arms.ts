/** The arms of an evaluation: the models and baselines to compare. */
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { UserError } from '../../src/base/errors.js';
import {
  type BaselineName,
  baselineArm,
  isBaselineName,
  requireBaseline,
} from '../../src/config/baselines.js';
import type { ModelConfig } from '../../src/config/model.js';
import { modelDirectory } from '../../src/models/local/settings.js';
import { isAdapter } from '../../src/models/local/summary/adapter-summary.js';
import { contentHash, readLineage, type TrainingLineage, trainedEnvironments } from '../dataset/lineage.js';
import { findBase, holdsModel, templateVariables } from '../export/merged/base-model.js';

export type ArmName = 'base' | 'tuned' | BaselineName;

/** A model or baseline that runs all experiments. */
export interface Arm {
  readonly name: ArmName;
  readonly label: string;
  readonly provider: ModelConfig['provider'];
  /** `key=value` overrides that make a config use this arm. */
  readonly overrides: readonly string[];
  /** Hash of the weights; null if they aren't local files. */
  readonly hash: string | null;
  readonly paths?: LocalWeights;
  readonly lineage?: TrainingLineage;
}

/** `model` is a directory or GGUF file; `adapter` is a directory. */
interface LocalWeights {
  readonly model: string;
  readonly adapter?: string;
}

/** Environments that the tuned model was trained in, if known. */
export type TrainedEnvironments =
  | { readonly kind: 'stated' | 'lineage'; readonly environments: readonly string[] }
  | { readonly kind: 'unknown'; readonly reason: string };

/**
 * @param base a directory (model, adapter, training run), GGUF file, `ollama:NAME`, `openai:NAME` or a baseline; if
 * undefined, the model that `tuned` was trained from
 * @param baselines baselines, e.g. `random` or, with settings, `hill-climb:sigma=2`
 * @throws UserError if a model or baseline can't be found, a baseline is listed twice with different settings, or the
 * base is unknown or has the weights of `tuned`
 */
export function openArms(
  base: string | undefined,
  tuned: string,
  baselines: readonly string[],
  cwd: string,
): readonly Arm[] {
  const baseArm = base === undefined ? undefined : openArm('base', base, undefined, cwd);
  const tunedArm = openArm('tuned', tuned, baseArm, cwd);
  const resolvedBase = baseArm ?? openArm('base', requireBase(tunedArm), undefined, cwd);
  if (resolvedBase.hash !== null && resolvedBase.hash === tunedArm.hash) {
    throw new UserError({ field: '--tuned', message: 'has the same weights as the base', value: tuned });
  }
  // Local models get the chat template variables that the tuned model was trained with.
  const { paths } = tunedArm;
  const variables = paths === undefined ? {} : templateVariables(paths.adapter ?? paths.model);
  const settings = Object.keys(variables).length === 0 ? [] : [`model.template=${JSON.stringify(variables)}`];
  const modelArms = [resolvedBase, tunedArm].map((arm) =>
    arm.paths === undefined ? arm : { ...arm, overrides: [...arm.overrides, ...settings] },
  );
  return [...modelArms, ...baselineArms(baselines)];
}

export function trainingEnvironments(tuned: Arm, stated: readonly string[] | undefined): TrainedEnvironments {
  if (stated !== undefined) return { kind: 'stated', environments: stated };
  const hint = 'set --trained-on ID,… (or none)';
  if (tuned.lineage === undefined)
    return { kind: 'unknown', reason: `the tuned model has no training.json; ${hint}` };
  const environments = trainedEnvironments(tuned.lineage);
  return environments === undefined
    ? { kind: 'unknown', reason: `a training dataset has no manifest, or has changed since; ${hint}` }
    : { kind: 'lineage', environments };
}

function baselineArms(specs: readonly string[]): readonly Arm[] {
  const arms = [...new Set(specs)].map((spec) => parseBaseline('--baseline', spec));
  const duplicate = arms.find(({ name }, i) => arms.findIndex((other) => other.name === name) !== i);
  if (duplicate === undefined) return arms;
  throw new UserError({
    field: '--baseline',
    message: 'is listed twice with different settings',
    value: duplicate.name,
    hint: 'list each baseline once; compare other settings in a separate evaluation',
  });
}

/** Parses a baseline, which can have settings that override its defaults: `cma-es:sigma=2:population=8`. */
function parseBaseline(field: string, spec: string): Arm {
  const [name, ...settings] = spec.split(':');
  const arm = baselineArm(requireBaseline(field, name!));
  return {
    ...arm,
    label: settings.length === 0 ? arm.label : `${arm.label} (${settings.join(', ')})`,
    overrides: [...arm.overrides, ...settings.map((setting) => `model.${setting}`)],
    hash: null,
  };
}

function openArm(name: 'base' | 'tuned', spec: string, base: Arm | undefined, cwd: string): Arm {
  const match = /^(ollama|openai):(.+)$/.exec(spec);
  if (match !== null) {
    const [provider, model] = [match[1] as 'ollama' | 'openai', match[2]!];
    return {
      name,
      label: `${provider}/${model}`,
      provider,
      overrides: [`model.provider=${provider}`, `model.name=${JSON.stringify(model)}`],
      hash: null,
    };
  }
  if (isBaselineName(spec.split(':', 1)[0]!)) return { ...parseBaseline(`--${name}`, spec), name };
  const directory = findWeights(modelDirectory(spec, cwd, `--${name}`), `--${name}`);
  const paths = isAdapter(directory)
    ? { model: modelOfAdapter(directory, base, cwd), adapter: directory }
    : { model: directory };
  const lineage = readLineage(directory);
  return {
    name,
    label: labelOf(paths),
    provider: 'local',
    overrides: [
      'model.provider=local',
      `model.path=${JSON.stringify(paths.model)}`,
      paths.adapter === undefined ? 'model.adapter=' : `model.adapter=${JSON.stringify(paths.adapter)}`,
    ],
    hash: [paths.model, paths.adapter].flatMap((path) => (path ? contentHash(path) : [])).join(' '),
    paths,
    ...(lineage && { lineage }),
  };
}

/** Names of the directories; a generic name is preceded by its parent's, as in `tuned/adapter`. */
function labelOf({ model, adapter }: LocalWeights): string {
  const name = (path: string) =>
    ['adapter', 'model', 'merged'].includes(basename(path))
      ? `${basename(dirname(path))}/${basename(path)}`
      : basename(path);
  return adapter === undefined ? name(model) : `${name(model)} + ${name(adapter)}`;
}

/** Finds the weights: in the directory itself, or in the `adapter` or `model` directory of a training run. */
function findWeights(directory: string, field: string): string {
  const holdsWeights = (path: string) => isAdapter(path) || holdsModel(path);
  const found = [directory, join(directory, 'adapter'), join(directory, 'model')].find(holdsWeights);
  if (found !== undefined) return found;
  throw new UserError({
    field,
    message: existsSync(directory)
      ? 'this directory has neither a model nor an adapter'
      : 'there is no such directory',
    value: directory,
    hint: 'choose a GGUF file, a directory (of a model, adapter or complete training run), ollama:NAME, openai:NAME, or a baseline',
  });
}

/** The base model that an adapter names or, if it isn't found, the model of the base arm. */
function modelOfAdapter(adapter: string, base: Arm | undefined, cwd: string): string {
  try {
    return findBase(adapter, undefined, cwd, '--base');
  } catch (error) {
    if (!(error instanceof UserError) || base?.paths === undefined) throw error;
    return base.paths.model;
  }
}

function requireBase({ paths, lineage, label }: Arm): string {
  if (paths?.adapter !== undefined) return paths.model;
  const basePath = lineage?.base.model;
  if (basePath !== undefined && lineage?.method !== 'scratch' && holdsModel(basePath)) {
    return basePath;
  }
  throw new UserError({
    field: '--base',
    message: `is required: the model that ${label} was trained from can't be found`,
    hint: 'set the base model: --base models/…',
  });
}
