import type { Rope } from './hf-config.js';

/**
 * Angular frequencies of the rotary embedding, in radians a token: headDim / 2 values. Rounded to float32 where the
 * reference implementation rounds, since the angle at a late position multiplies the error by that position.
 * Llama-3 scaling: Grattafiori et al. 2024 (arXiv 2407.21783) and Meta's published `apply_scaling`.
 */
export function ropeFrequencies(rope: Rope, headDim: number): number[] {
  const plain = Array.from({ length: headDim / 2 }, (_, i) =>
    Math.fround(1 / Math.fround(rope.theta ** Math.fround((2 * i) / headDim))),
  );
  switch (rope.scaling) {
    case 'none':
      return plain;
    case 'linear':
      return plain.map((frequency) => Math.fround(frequency / rope.factor));
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
  }
}
