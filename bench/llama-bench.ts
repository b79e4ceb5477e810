/** The same GGUF file in llama.cpp, by its own program for measuring. */
import { execFileSync } from 'node:child_process';
import type { Finding } from './finding.js';
import { measure } from './local-speeds.js';

/** What `llama-bench -o json` says of one test. */
interface LlamaTest {
  readonly n_prompt: number;
  readonly n_gen: number;
  /** Mean tokens a second. */
  readonly avg_ts: number;
}

const promptTokens = 640;
const answerTokens = 24;

/** Before and after ours, so that a machine whose load changes shows itself. */
export async function besideLlama(program: string, path: string): Promise<Finding[]> {
  const before = llamaSpeeds(program, path);
  const ours = await measure(path, 'none');
  const after = llamaSpeeds(program, path);
  const finding = (name: string, own: number, theirs: readonly [number, number]): Finding => ({
    name,
    value: `${own.toFixed(1)} tokens/s`,
    note: `llama.cpp ${theirs.map((rate) => rate.toFixed(1)).join(' before and ')} after: ${((2 * own) / (theirs[0] + theirs[1])).toFixed(2)} ×`,
  });
  return [
    finding('prefill', ours.prefillTokensPerSecond, [before.prefill, after.prefill]),
    finding('decode', 1 / ours.decodeSecondsPerToken, [before.decode, after.decode]),
  ];
}

/** Tokens a second on one thread. Its answers follow no prompt, which favours it. */
function llamaSpeeds(program: string, path: string): { readonly prefill: number; readonly decode: number } {
  const sizes = ['-p', `${promptTokens}`, '-n', `${answerTokens}`];
  const text = execFileSync(program, ['-m', path, '-t', '1', '-o', 'json', ...sizes], { encoding: 'utf8' });
  const tests = JSON.parse(text) as readonly LlamaTest[];
  const rate = (kind: 'n_prompt' | 'n_gen') => {
    const test = tests.find((one) => one[kind] > 0);
    if (test === undefined) throw new Error(`llama-bench measured nothing with ${kind}`);
    return test.avg_ts;
  };
  return { prefill: rate('n_prompt'), decode: rate('n_gen') };
}
