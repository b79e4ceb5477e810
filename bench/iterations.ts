import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGenerator } from '../src/base/random/generator.js';
import { parseConfig, resolvedYaml } from '../src/config/load.js';
import { runExperiment } from '../src/experiment/experiment.js';
import { assemble } from '../src/experiment/setup/assemble.js';
import { experimentIn, newManifest } from '../src/experiment/setup/open-experiment.js';
import type { LanguageModel } from '../src/models/language-model.js';
import { languageModelProposer } from '../src/proposers/language-model.js';
import { createRunDirectory } from '../src/runs/create.js';
import type { Finding } from './finding.js';
import { median } from './rollouts.js';

const iterations = 400;

/**
 * Measures an iteration without the model and the environment: prompt, parsing, recording on disk. A scripted model
 * replies immediately and each episode ends after one step, so nearly all of the time is overhead.
 */
export async function benchIterations(): Promise<readonly Finding[]> {
  const root = mkdtempSync(join(tmpdir(), 'policyloop-bench-'));
  try {
    const config = parseConfig({
      environment: 'CartPole-v1',
      model: { provider: 'ollama', name: 'scripted' },
      prompts: { set: 'numeric' },
      iterations,
      memory: { tokens: 1_000_000 },
      evaluation: { episodes: 1, maxSteps: 1 },
      confirmation: { candidates: 0 },
    });
    const assembly = { ...(await assemble(config, {})), proposer: languageModelProposer(scriptedModel()) };
    const now = () => new Date();
    const directory = createRunDirectory(join(root, 'run'), {
      configYaml: resolvedYaml(assembly.config),
      manifest: newManifest(assembly, 'run', now()),
      imported: [],
      now,
    });
    const times: number[] = [];
    let last = performance.now();
    const experiment = experimentIn(assembly, directory, {
      activeMs: () => performance.now(),
      now,
      emit(event) {
        directory.record(event);
        if (event.kind !== 'iteration-finished') return;
        const time = performance.now();
        times.push(time - last);
        last = time;
      },
    });
    const never = new AbortController().signal;
    await runExperiment(experiment, { finish: never, abort: never });
    await directory.close();
    const window = (from: number, to: number) => median(times.slice(from, to));
    const [early, late] = [window(20, 60), window(360, 400)];
    return [
      { name: 'overhead per iteration, around iteration 40', value: `${early.toFixed(2)} ms` },
      {
        name: `overhead per iteration, around iteration ${iterations - 20}`,
        value: `${late.toFixed(2)} ms`,
        note: `target ≤ 3 ms, with ${iterations + 20} evaluations in a prompt; ${(late / early).toFixed(2)} × early`,
      },
    ];
  } finally {
    rmSync(root, { recursive: true });
  }
}

function scriptedModel(): LanguageModel {
  return {
    id: 'scripted',
    generate(_messages, { grammar, seeds }) {
      const random = createGenerator(seeds[0]!);
      const { closing = '\nA reason.', labels, number } = grammar!;
      const values = labels.map((label) => {
        return `${label} ${random.uniform(number.low, number.high).toFixed(number.decimals)}`;
      });
      return Promise.resolve([
        {
          text: `${values.join('')}${closing}`,
          finishReason: 'stop',
          usage: { promptTokens: 1, completionTokens: 1 },
          latencyMs: 0,
          retries: 0,
        },
      ]);
    },
  };
}
