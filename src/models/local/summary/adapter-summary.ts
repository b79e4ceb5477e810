/** A summary of a LoRA adapter's directory, printed by `policyloop models check`. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Problem } from '../../../base/errors.js';
import { formatCount } from '../../../base/text/numbers.js';
import { sum } from '../../../statistics/descriptive.js';
import { attempt, checkModel } from '../engine/inspect.js';
import { readDecoderConfig } from '../families/hf-config.js';
import { type Adapter, linearModules, openAdapter, readAdapter } from '../graph/adapter.js';
import { modelDirectory } from '../settings.js';
import { loraScale } from '../weights/adapter-config.js';

interface AdapterSummary {
  readonly kind: 'adapter';
  readonly directory: string;
  readonly base: string | undefined;
  readonly adapter: ReturnType<typeof summarize> | undefined;
  /** The model's directory or GGUF file, and whether the adapter fits it; undefined if that wasn't checked. */
  readonly fit: { readonly model: string; readonly fits: boolean } | undefined;
  readonly problems: readonly Problem[];
}

export function isAdapter(directory: string): boolean {
  return existsSync(join(directory, 'adapter_config.json')) && !existsSync(join(directory, 'config.json'));
}

/** Summarises an adapter, and checks whether it fits `model` or, by default, the model that it names, if found. */
export function adapterSummary(
  directory: string,
  model: string | undefined,
  cwd: string,
  ignoredKeys: readonly string[] = [],
): AdapterSummary {
  const problems: Problem[] = [];
  const adapter = attempt(() => readAdapter(directory, ignoredKeys), problems);
  const baseModel = model ?? attempt(() => baseDirectory(adapter?.base, cwd), []);
  const checkFit = (base: string) => {
    checkModel(base, ignoredKeys);
    openAdapter(directory, readDecoderConfig(base, ignoredKeys), ignoredKeys);
    return true;
  };
  return {
    kind: 'adapter',
    directory,
    base: adapter?.base,
    adapter: adapter && summarize(adapter),
    fit:
      adapter && baseModel !== undefined
        ? { model: baseModel, fits: attempt(() => checkFit(baseModel), problems) ?? false }
        : undefined,
    problems,
  };
}

function baseDirectory(base: string | undefined, cwd: string): string | undefined {
  if (base === undefined) return undefined;
  const directory = modelDirectory(base, cwd);
  return existsSync(join(directory, 'config.json')) ? directory : undefined;
}

function summarize({ modules, scaling }: Adapter) {
  const paths = [...modules.keys()];
  const tensors = [...modules.values()].flatMap(({ a, b }) => [a, b]);
  const counts = linearModules.map(
    (name) => [name, paths.filter((path) => path.endsWith(`.${name}`)).length] as const,
  );
  return {
    rank: scaling.rank,
    alpha: scaling.alpha,
    scale: loraScale(scaling),
    /** Number of changed modules by the last part of their path, e.g. `q_proj`. */
    modules: Object.fromEntries(counts.filter(([, count]) => count > 0)),
    parameters: sum(tensors.map(({ shape }) => shape.reduce((a, b) => a * b, 1))),
  };
}

export function adapterRows({ base, adapter, fit, problems }: AdapterSummary): (readonly [string, string])[] {
  if (adapter === undefined) return [['verdict', "can't be used as it is"]];
  const { rank, alpha, scale, modules, parameters } = adapter;
  const counts = Object.entries(modules).map(([name, layers]) => `${layers} ${name}`);
  const usableText = fit === undefined ? 'can be read' : `can be used with ${basename(fit.model)}`;
  return [
    ['adapter', `LoRA of rank ${rank}, alpha ${alpha}: scaled by ${Number(scale.toPrecision(4))}`],
    ['modules', counts.join(', ')],
    ['parameters', formatCount(parameters)],
    ['base', base ?? '(the adapter names none)'],
    [
      'fits',
      fit === undefined
        ? 'not checked; pass the directory of the base model with --base'
        : `${fit.fits ? 'yes' : 'no'} (checked against ${fit.model})`,
    ],
    ['verdict', problems.length > 0 ? "can't be used as it is" : usableText],
  ];
}
