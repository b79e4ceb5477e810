/** Emits rotary position embeddings (Su et al. 2021). */
import type { DecoderConfig } from '../weights/decoder-config.js';
import type { Rope } from '../weights/rope.js';
import type { Value } from './graph.js';
import type { DecoderBuild } from './parameters.js';

/**
 * Returns the width / 2 angular frequencies in radians per token. They are rounded to float32 where the reference
 * implementation rounds, because high positions multiply the error. Llama-3: Grattafiori et al. 2024 (arXiv
 * 2407.21783) and Meta's `apply_scaling`. YaRN: Peng et al. 2023 (arXiv 2309.00071). LongRoPE: Ding et al. 2024
 * (arXiv 2402.13753); `isLong` selects its factors for long sequences.
 */
export function ropeFrequencies(rope: Rope, width: number, isLong = false): number[] {
  const thetaPowers = Array.from({ length: width / 2 }, (_, i) =>
    Math.fround(rope.theta ** Math.fround((2 * i) / width)),
  );
  const unscaled = thetaPowers.map((length) => Math.fround(1 / length));
  switch (rope.scaling) {
    case 'none':
      return unscaled;
    case 'linear':
      return unscaled.map((frequency) => Math.fround(frequency / rope.factor));
    case 'divided':
      return unscaled.map((frequency, i) => Math.fround(frequency / rope.divisors[i]!));
    case 'llama3': {
      const { factor, lowFrequencyFactor: low, highFrequencyFactor: high, originalContext } = rope;
      return unscaled.map((frequency) => {
        const wavelength = (2 * Math.PI) / frequency;
        if (wavelength > originalContext / low) return Math.fround(frequency / factor);
        if (wavelength < originalContext / high) return frequency;
        const smooth = (originalContext / wavelength - low) / (high - low);
        return Math.fround(((1 - smooth) * frequency) / factor + smooth * frequency);
      });
    }
    case 'yarn': {
      const [low, high] = yarnRange(rope, width);
      return thetaPowers.map((length, i) => {
        const ramp = Math.min(1, Math.max(0, (i - low) / (high - low)));
        return Math.fround((1 - ramp) / length + ramp / Math.fround(rope.factor * length));
      });
    }
    case 'longrope': {
      const factors = isLong ? rope.longFactors : rope.shortFactors;
      return thetaPowers.map((length, i) => Math.fround(1 / Math.fround(Math.fround(factors[i]!) * length)));
    }
  }
}

/** Returns the range of frequency indices over which YaRN ramps from no scaling to full scaling. */
function yarnRange(rope: Extract<Rope, { scaling: 'yarn' }>, width: number): readonly [number, number] {
  const { theta, originalContext, betaFast, betaSlow, truncate } = rope;
  const indexOf = (rotations: number) =>
    (width * Math.log(originalContext / (rotations * 2 * Math.PI))) / (2 * Math.log(theta));
  const [fast, slow] = [indexOf(betaFast), indexOf(betaSlow)];
  const low = Math.max(truncate ? Math.floor(fast) : fast, 0);
  const high = Math.min(truncate ? Math.ceil(slow) : slow, width - 1);
  return [low, low === high ? high + 0.001 : high];
}

/**
 * Factors [S, 1, 1, headDim] or [P, S, 1, 1, headDim]: x becomes x·cos + swapped(x)·sin, where `swapped` exchanges the
 * halves of the rotated dimensions and `sin` is negated for the first half. In other dimensions, cos is 1 and sin is 0.
 */
interface RotationFactors {
  readonly cos: Value;
  readonly sin: Value;
}

export interface Rotation extends RotationFactors {
  /** Factors for all heads of a token together: [·, heads + 2·kvHeads, 1, headDim]. */
  readonly allHeads: RotationFactors;
}

/** Returns the score scale if it is a power of two, which scales the rotation without rounding; otherwise 1. */
export function rotationScale({ scoreScale }: DecoderConfig): number {
  return Number.isInteger(Math.log2(scoreScale)) ? scoreScale : 1;
}

export interface NewTokenPositions {
  /** int32 [S], or [P, S] with P = B if rows differ, otherwise 1: position of each new token in its sequence. */
  readonly positions: Value;
  /** int32 [P, 1] or [P, S]: length that each sequence has or can reach; if undefined, the positions determine it. */
  readonly sequenceTokens?: Value;
}

export function emitRotation(build: DecoderBuild, rope: Rope, newTokens: NewTokenPositions): Rotation {
  const { g, precision } = build;
  const { rotaryWidth: width, headDim } = build.config;
  // Shaders have no float64, so using it here makes the CPU compute these few numbers.
  const type = g.usesShaders ? 'float64' : precision;
  const padding = Array.from({ length: headDim - width }, () => 0);
  const emitFrequencies = (useLong: boolean) => {
    const half = ropeFrequencies(rope, width, useLong);
    return g.floats(type, [...half, ...half, ...padding], [1, 1, 1, headDim]);
  };
  const isLong = rope.scaling === 'longrope' && emitIsLong(build, rope.originalContext, newTokens);
  const frequencies = isLong
    ? g.op('Where', [isLong, emitFrequencies(true), emitFrequencies(false)])
    : emitFrequencies(false);
  const positions = g.op('Unsqueeze', [g.cast(newTokens.positions, type), g.integers([-3, -2, -1])]);
  const angles = g.op('Mul', [positions, frequencies]);
  const emitFactors = (op: 'Cos' | 'Sin', factors: readonly number[]) => {
    const ratio = g.op(op, [angles]);
    return g.op('Mul', [g.usesShaders ? g.cast(ratio, precision) : ratio, g.floats(precision, factors)]);
  };
  const factor = 'attentionFactor' in rope ? rope.attentionFactor : 1;
  const halves = (first: number) => Array.from({ length: width }, (_, i) => (i < width / 2 ? first : factor));
  const cos = emitFactors('Cos', [...halves(factor), ...padding.map(() => 1)]);
  const sin = emitFactors('Sin', [...halves(-factor), ...padding]);
  return { cos, sin, allHeads: emitJointFactors(build, cos, sin) };
}

/** Emits true for sequences longer than `context`. Without `sequenceTokens`, the last position gives the length. */
function emitIsLong({ g }: DecoderBuild, context: number, newTokens: NewTokenPositions): Value {
  if (newTokens.sequenceTokens !== undefined) {
    const tokens = g.op('Unsqueeze', [newTokens.sequenceTokens, g.integers([-3, -2, -1])]);
    return g.op('Less', [g.int32s([context]), tokens]);
  }
  const last = g.op('ReduceMax', [newTokens.positions], { axes: [-1], keepdims: 1 });
  return g.op('LessOrEqual', [g.int32s([context]), g.op('Unsqueeze', [last, g.integers([-3, -2, -1])])]);
}

/** Rotates the pairs (xᵢ, xᵢ₊ₕ), h = rotaryWidth / 2, of x [B, S, ·, ·, headDim] (Hugging Face's layout). */
export function rotate({ g, config }: DecoderBuild, x: Value, { cos, sin }: RotationFactors): Value {
  const { rotaryWidth: width, headDim } = config;
  const sizes = [width / 2, width / 2, headDim - width].filter((size) => size > 0);
  const [first, second, ...rest] = g.addNode('Split', [x, g.integers(sizes)], sizes.length, { axis: -1 });
  const swapped = g.op('Concat', [second!, first!, ...rest], { axis: -1 });
  return g.op('Add', [g.op('Mul', [x, cos]), g.op('Mul', [swapped, sin])]);
}

/** Emits the factors for all heads together, which also scale the queries and leave the values unchanged. */
function emitJointFactors({ g, config, precision }: DecoderBuild, cos: Value, sin: Value): RotationFactors {
  const { heads, kvHeads } = config;
  const perHead = (query: number, key: number, value: number) => {
    const numbers = [heads, kvHeads, kvHeads].flatMap((count, i) =>
      Array.from({ length: count }, () => [query, key, value][i]!),
    );
    return g.floats(precision, numbers, [numbers.length, 1, 1]);
  };
  const factors = perHead(rotationScale(config), 1, 0);
  return {
    cos: g.op('Add', [g.op('Mul', [cos, factors]), perHead(0, 0, 1)]),
    sin: g.op('Mul', [sin, factors]),
  };
}
