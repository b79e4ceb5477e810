import { afterAll, expect, it } from 'vitest';
import { type Engine, loadEngine } from '../../../../src/models/local/generation/engine.js';
import type { GenerationJob } from '../../../../src/models/local/generation/protocol.js';
import type { Quantization } from '../../../../src/models/local/weights/quantization.js';

const engines: Engine[] = [];
afterAll(async () => {
  for (const engine of engines) await engine.close();
});

/** An engine that has read nothing yet. */
export async function fresh(path: string, quantization: Quantization, threads = 1): Promise<Engine> {
  const settings = { device: 'cpu', contextTokens: undefined, template: {} } as const;
  const engine = await loadEngine({ path, quantization, threads, ...settings });
  engines.push(engine);
  return engine;
}

const never = { isAborted: () => false };

/** @param lines length of the prompt, which begins like every other one */
export function repeatableJob(lines: number, seeds: readonly number[], end = 'Go on.'): GenerationJob {
  const shown = Array.from({ length: lines }, (_, i) => `params[0]: ${i}.2; f(params): ${(i * 7) % 5}`);
  return {
    messages: [{ role: 'user', content: `${shown.join('\n')}\n${end}` }],
    seeds,
    maxTokens: 24,
    sampling: { temperature: 1 },
    sampledLogProbabilities: true,
  };
}

/** Replies, log-probabilities included, depend on nothing but their prompt and seed. */
export function repeats(path: string, quantization: Quantization): void {
  const jobs = [repeatableJob(9, [1]), repeatableJob(14, [2], 'Say hello.'), repeatableJob(11, [3])];

  it('gives equal replies to requests in reverse order, and with a cached prompt', async () => {
    const [one, other] = [await fresh(path, quantization), await fresh(path, quantization)];
    const inOrder = [];
    for (const job of jobs) inOrder.push((await one.generate(job, never)).replies);
    const reversed = [];
    for (const job of jobs.toReversed()) reversed.push((await other.generate(job, never)).replies);
    expect(reversed.toReversed()).toEqual(inOrder);
    // Once more, with the prompt cached.
    expect((await one.generate(jobs[2]!, never)).replies).toEqual(inOrder[2]);
  });

  it('gives equal replies with one thread and with two', async () => {
    const [one, two] = [await fresh(path, quantization, 1), await fresh(path, quantization, 2)];
    expect((await two.generate(jobs[1]!, never)).replies).toEqual(
      (await one.generate(jobs[1]!, never)).replies,
    );
  });

  it('gives the same first candidate with 1, 3 and 8 candidates', async () => {
    const engine = await fresh(path, quantization);
    const first = async (count: number) => {
      const seeds = Array.from({ length: count }, (_, i) => 5 + i);
      return (await engine.generate(repeatableJob(12, seeds), never)).replies[0];
    };
    const alone = await first(1);
    expect(await first(3)).toEqual(alone);
    expect(await first(8)).toEqual(alone);
  });
}
