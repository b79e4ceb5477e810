/** A summary of a LoRA adapter's directory, printed by `policyloop models check`. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Problem } from '../../../base/errors.js';
import { formatBytes, formatCount } from '../../../base/text/numbers.js';
import { sum } from '../../../statistics/descriptive.js';
import { attempt, checkModel } from '../engine/inspect.js';
import { readDecoderConfig } from '../families/hf-config.js';
import { type Adapter, linearModules, openAdapter, readAdapter } from '../graph/adapter.js';
import { modelDirectory } from '../settings.js';
import { loraScale } from '../weights/adapter-config.js';

export interface AdapterSummary {
  readonly kind: 'adapter';
  readonly directory: string;
  readonly base?: string;
  readonly adapter?: {
    readonly rank: number;
    readonly alpha: number;
    readonly scale: number;
    /** Number of changed modules by the last part of their path, e.g. `q_proj`. */
    readonly modules: Readonly<Record<string, number>>;
    readonly parameters: number;
    readonly bytes: number;
    readonly dtypes: readonly string[];
  };
  /** The model's directory, and whether the adapter fits it. */
  readonly fit?: { readonly model: string; readonly fits: boolean };
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
  if (adapter === undefined) return { kind: 'adapter', directory, problems };
  const compared = model ?? namedModel(adapter, cwd);
  const fits =
    compared !== undefined &&
    attempt(() => {
      checkModel(compared, ignoredKeys);
      openAdapter(directory, readDecoderConfig(compared, ignoredKeys), ignoredKeys);
      return true;
    }, problems) === true;
  return {
    kind: 'adapter',
    directory,
    ...(adapter.base !== undefined && { base: adapter.base }),
    adapter: summarise(adapter),
    ...(compared !== undefined && { fit: { model: compared, fits } }),
    problems,
  };
}

function namedModel({ base }: Adapter, cwd: string): string | undefined {
  if (base === undefined) return undefined;
  const directory = modelDirectory(base, cwd);
  return existsSync(join(directory, 'config.json')) ? directory : undefined;
}

function summarise(adapter: Adapter): NonNullable<AdapterSummary['adapter']> {
  const changes = [...adapter.modules];
  const tensors = changes.flatMap(([, { a, b }]) => [a, b]);
  const counts = linearModules.map((name) => {
    return [name, changes.filter(([module]) => module.endsWith(`.${name}`)).length] as const;
  });
  return {
    rank: adapter.scaling.rank,
    alpha: adapter.scaling.alpha,
    scale: loraScale(adapter.scaling),
    modules: Object.fromEntries(counts.filter(([, count]) => count > 0)),
    parameters: sum(tensors.map(({ shape }) => shape.reduce((a, b) => a * b, 1))),
    bytes: sum(tensors.map(({ length }) => length)),
    dtypes: [...new Set(tensors.map(({ dtype }) => dtype))],
  };
}

export function adapterRows({ base, adapter, fit, problems }: AdapterSummary): (readonly [string, string])[] {
  const rows: (readonly [string, string])[] = [];
  if (adapter !== undefined) {
    const { rank, alpha, scale, modules, parameters, bytes, dtypes } = adapter;
    const scaled = Number(scale.toPrecision(4));
    rows.push(['adapter', `LoRA of rank ${rank}, alpha ${alpha}: scaled by ${scaled}`]);
    const counts = Object.entries(modules).map(([name, layers]) => `${layers} ${name}`);
    rows.push(['modules', counts.join(', ')]);
    rows.push(['parameters', `${formatCount(parameters)}, ${dtypes.join(' and ')}, ${formatBytes(bytes)}`]);
    rows.push(['base', base ?? '(the adapter names none)']);
  }
  if (fit !== undefined) rows.push(['fits', `${fit.fits ? 'yes' : 'no'} (checked against ${fit.model})`]);
  else if (adapter !== undefined)
    rows.push(['fits', 'not checked; pass the directory of the base model with --base']);
  rows.push(['verdict', verdict(problems, fit)]);
  return rows;
}

function verdict(problems: readonly Problem[], fit: AdapterSummary['fit']): string {
  if (problems.length > 0) return "can't be used as it is";
  return fit === undefined ? 'can be read' : `can be used with ${basename(fit.model)}`;
}
