/** Compares the speed of the local model with llama.cpp's, as measured by its `llama-bench`. */
import { execFileSync } from 'node:child_process';
import type { Quantization } from '../src/models/local/weights/quantization.js';
import type { Finding } from './finding.js';
import { openSpeeds, replyTokens } from './local-speeds.js';

/** One test in the output of `llama-bench -o json`. */
interface LlamaTest {
  readonly n_prompt: number;
  readonly n_gen: number;
  /** Mean tokens per second. */
  readonly avg_ts: number;
}

/** Several short rounds, so that other load on the machine affects both sides of a round equally. */
const rounds = 5;

/** Tokens per second for a prompt, and for the reply to it. */
interface Rates {
  readonly prefill: number;
  readonly decode: number;
}

/**
 * Measures both sides in turns; the ratio is the median of the rounds' ratios.
 * @param file GGUF that llama.cpp reads
 * @param own the same file, or a directory of the same shape, and the quantization of its weights
 */
export async function besideLlama(
  program: string,
  file: string,
  own: { readonly path: string; readonly quantization: Quantization },
): Promise<Finding[]> {
  const engine = await openSpeeds(own.path, own.quantization);
  const pairs: { readonly ours: Rates; readonly theirs: Rates }[] = [];
  try {
    for (let round = 0; round <= rounds; round++) {
      const ours = await engine.round(round);
      const theirs = llamaRates(program, file, engine.promptTokens);
      // The first round warms up file caches and memory.
      if (round > 0) pairs.push({ ours, theirs });
    }
  } finally {
    await engine.close();
  }
  return (['prefill', 'decode'] as const).map((kind) => {
    const ratios = pairs.map(({ ours, theirs }) => ours[kind] / theirs[kind]);
    const [low, high] = [Math.min(...ratios), Math.max(...ratios)].map((ratio) => ratio.toFixed(2));
    return {
      name: kind,
      value: `${median(pairs.map(({ ours }) => ours[kind])).toFixed(1)} tokens/s`,
      note:
        `llama.cpp ${median(pairs.map(({ theirs }) => theirs[kind])).toFixed(1)}: ` +
        `${median(ratios).toFixed(2)} × (${low} to ${high} in ${rounds} rounds)`,
    };
  });
}

function llamaRates(program: string, file: string, promptTokens: number): Rates {
  const rate = (...sizes: readonly string[]) => {
    const options = ['-m', file, '-t', '1', '-r', '1', '-o', 'json', ...sizes];
    const text = execFileSync(program, options, { encoding: 'utf8' });
    const [test] = JSON.parse(text) as readonly LlamaTest[];
    if (test === undefined) throw new Error(`llama-bench measured nothing with ${sizes.join(' ')}`);
    return test.avg_ts;
  };
  const depth = ['-d', `${promptTokens}`];
  return {
    prefill: rate('-p', `${promptTokens}`, '-n', '0'),
    decode: rate('-p', '0', '-n', `${replyTokens}`, ...depth),
  };
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}
