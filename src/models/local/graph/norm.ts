import type { DecoderConfig } from '../weights/decoder-config.js';
import type { GraphBuilder, Precision, Value } from './graph.js';
import type { ParameterSource } from './parameters.js';

/** A decoder, and the graph into which it is emitted. */
export interface DecoderBuild {
  readonly g: GraphBuilder;
  readonly config: DecoderConfig;
  readonly parameters: ParameterSource;
  /** The type in which the graph computes. */
  readonly precision: Precision;
}

/**
 * x / √(mean(x²) + ε) · (offset + scale) over the last axis (Zhang & Sennrich 2019), or LayerNorm, which
 * first subtracts the mean and adds a bias (Ba et al. 2016).
 */
export function normalised(
  build: DecoderBuild,
  x: Value,
  module: string,
  offset = build.config.norm.offset,
): Value {
  const { g, config, parameters, precision } = build;
  const centred =
    config.norm.kind === 'layer' ? g.op('Sub', [x, g.op('ReduceMean', [x], { axes: [-1], keepdims: 1 })]) : x;
  const stored = parameters.vector(`${module}.weight`);
  const factors = offset === 0 ? stored : g.op('Add', [stored, constant(build, offset)]);
  const square = g.op('Pow', [centred, constant(build, 2)]);
  const mean = g.op('ReduceMean', [square], { axes: [-1], keepdims: 1 });
  const root = g.op('Sqrt', [g.op('Add', [mean, g.floats(precision, [config.normEpsilon], [])])]);
  const scaled = g.op('Mul', [g.op('Div', [centred, root]), factors]);
  return config.norm.kind === 'layer' ? g.op('Add', [scaled, parameters.vector(`${module}.bias`)]) : scaled;
}

/** cap·tanh(x / cap), or x if there is no cap (Gemma 2, arXiv 2408.00118). */
export function capped(build: DecoderBuild, x: Value, cap: number | undefined): Value {
  if (cap === undefined) return x;
  const bounded = build.g.op('Tanh', [scaledBy(build, x, 1 / cap)]);
  return scaledBy(build, bounded, cap);
}

export function scaledBy(build: DecoderBuild, x: Value, factor: number): Value {
  return factor === 1 ? x : build.g.op('Mul', [x, constant(build, factor)]);
}

const constant = ({ g, precision }: DecoderBuild, value: number) => g.floats(precision, [value], []);
