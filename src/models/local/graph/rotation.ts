/** Rotary positions (Su et al. 2021) in a graph. */
import type { Rope } from '../weights/rope.js';
import type { GraphBuilder, Value } from './graph.js';
import { type DecoderBuild, scaledBy } from './norm.js';

/**
 * Angular frequencies of the rotary embedding, in radians a token: width / 2 values. Rounded to float32 where the
 * reference implementation rounds, since the angle at a late position multiplies the error by that position.
 * Llama-3 scaling: Grattafiori et al. 2024 (arXiv 2407.21783) and Meta's published `apply_scaling`. YaRN: Peng et al.
 * 2023 (arXiv 2309.00071). LongRoPE: Ding et al. 2024 (arXiv 2402.13753).
 * @param width rotated dimensions of a head
 * @param long whether longrope's factors for long sequences hold
 */
export function ropeFrequencies(rope: Rope, width: number, long = false): number[] {
  const wavelengths = Array.from({ length: width / 2 }, (_, i) =>
    Math.fround(rope.theta ** Math.fround((2 * i) / width)),
  );
  const plain = wavelengths.map((length) => Math.fround(1 / length));
  switch (rope.scaling) {
    case 'none':
      return plain;
    case 'linear':
      return plain.map((frequency) => Math.fround(frequency / rope.factor));
    case 'divided':
      return plain.map((frequency, i) => Math.fround(frequency / rope.divisors[i]!));
    case 'llama3': {
      const { factor, lowFrequencyFactor: low, highFrequencyFactor: high, originalContext } = rope;
      return plain.map((frequency) => {
        const wavelength = (2 * Math.PI) / frequency;
        if (wavelength > originalContext / low) return Math.fround(frequency / factor);
        if (wavelength < originalContext / high) return frequency;
        const smooth = (originalContext / wavelength - low) / (high - low);
        return Math.fround(((1 - smooth) * frequency) / factor + smooth * frequency);
      });
    }
    case 'yarn': {
      const [low, high] = yarnRange(rope, width);
      return wavelengths.map((length, i) => {
        const stretched = Math.min(1, Math.max(0, (i - low) / (high - low)));
        return Math.fround((1 - stretched) / length + stretched / Math.fround(rope.factor * length));
      });
    }
    case 'longrope': {
      const factors = long ? rope.longFactors : rope.shortFactors;
      return wavelengths.map((length, i) => Math.fround(1 / Math.fround(Math.fround(factors[i]!) * length)));
    }
  }
}

/** Between these indices of frequencies, YaRN goes over from none of its scaling to all of it. */
function yarnRange(rope: Extract<Rope, { scaling: 'yarn' }>, width: number): readonly [number, number] {
  const { theta, originalContext, betaFast, betaSlow, truncate } = rope;
  const indexOf = (rotations: number) =>
    (width * Math.log(originalContext / (rotations * 2 * Math.PI))) / (2 * Math.log(theta));
  const [fast, slow] = [indexOf(betaFast), indexOf(betaSlow)];
  const low = Math.max(truncate ? Math.floor(fast) : fast, 0);
  const high = Math.min(truncate ? Math.ceil(slow) : slow, width - 1);
  return [low, low === high ? high + 0.001 : high];
}

/** Cosines and sines of the new tokens' angles: [S, 1, 1, width / 2], or [B, S, 1, 1, width / 2]. */
export interface Rotation {
  readonly cos: Value;
  readonly sin: Value;
  readonly width: number;
  /** Dimensions of a head that are not rotated. */
  readonly rest: number;
}

/** Where the new tokens stand. */
export interface TokenPlaces {
  /** int32 [S], or [B, S] where rows differ: place of each new token in its sequence. */
  readonly positions: Value;
  /** int32 [1]: tokens that the sequences of the call may grow to; undefined: no more than the positions show. */
  readonly sequenceTokens?: Value;
}

export function emitRotation(build: DecoderBuild, rope: Rope, places: TokenPlaces): Rotation {
  const { g, precision } = build;
  const { rotaryWidth: width, headDim } = build.config;
  // Shaders have no float64, so that the processor computes these few numbers.
  const type = g.shaders ? 'float64' : precision;
  const numbers = (long: boolean) => g.floats(type, ropeFrequencies(rope, width, long), [1, 1, 1, width / 2]);
  const frequencies =
    rope.scaling === 'longrope'
      ? g.op('Where', [isLong(build, rope.originalContext, places), numbers(true), numbers(false)])
      : numbers(false);
  const positions = g.op('Unsqueeze', [g.cast(places.positions, type), g.integers([-3, -2, -1])]);
  const angles = g.op('Mul', [positions, frequencies]);
  const factor = 'attentionFactor' in rope ? rope.attentionFactor : 1;
  const turned = (op: 'Cos' | 'Sin') => {
    const ratio = g.op(op, [angles]);
    return scaledBy(build, g.shaders ? g.cast(ratio, precision) : ratio, factor);
  };
  const [cos, sin] = [turned('Cos'), turned('Sin')];
  const rest = headDim - width;
  return { cos, sin, width, rest };
}

/** Whether a sequence is longer than `context`: [1], or [B, 1, 1, 1, 1] by the last position of each row. */
function isLong({ g }: DecoderBuild, context: number, { positions, sequenceTokens }: TokenPlaces): Value {
  if (sequenceTokens !== undefined) return g.op('Less', [g.int32s([context]), sequenceTokens]);
  const last = g.op('ReduceMax', [positions], { axes: [-1], keepdims: 1 });
  return g.op('LessOrEqual', [g.int32s([context]), g.op('Unsqueeze', [last, g.integers([-3, -2, -1])])]);
}

/**
 * Rotates the pairs (xᵢ, xᵢ₊ₕ), h = width / 2, of the first dimensions of x [B, S, kvHeads, ·, headDim] (the layout of
 * Hugging Face's weights).
 */
export function rotate(g: GraphBuilder, x: Value, { cos, sin, width, rest }: Rotation): Value {
  const [rotated, kept] =
    rest === 0 ? [x] : (g.split('Split', [x, g.integers([width, rest])], 2, { axis: -1 }) as [Value, Value]);
  const [first, second] = g.split('Split', [rotated], 2, { axis: -1 }) as [Value, Value];
  const multiply = (a: Value, b: Value) => g.op('Mul', [a, b]);
  const turned = [
    g.op('Sub', [multiply(first, cos), multiply(second, sin)]),
    g.op('Add', [multiply(second, cos), multiply(first, sin)]),
  ];
  return g.op('Concat', kept === undefined ? turned : [...turned, kept], { axis: -1 });
}
