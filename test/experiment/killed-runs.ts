/** Runs of four candidates that are killed while calls are under way. */
import { readRun } from '../../src/runs/reader.js';
import { heldRuns } from '../support/held-runs.js';
import { goodText, type HeldRequest } from '../support/held-server.js';

const config = (url: string) => `environment: CartPole-v1
model: { provider: openai, name: held, baseUrl: "${url}", maxRetries: 0, maxTokens: 200 }
iterations: 2
candidates: 4
warmup: 2
evaluation: { episodes: 2, maxSteps: 30 }
confirmation: { candidates: 0 }
`;

/** It answers for one candidate at a time. */
export const single = ({ n, seed }: HeldRequest) => (n > 1 ? 'refuse' : { text: goodText(seed) });

export async function killedRuns() {
  const runs = await heldRuns(config, ['--quiet']);
  return {
    ...runs,
    calls: (name: string) => readRun(runs.at(name)).calls,
    async killed(command: ReturnType<typeof runs.run>, requests: number): Promise<void> {
      await runs.server.received(requests);
      // Answers that were sent have arrived by then.
      await new Promise((resolve) => setTimeout(resolve, 500));
      command.child.kill('SIGKILL');
      await command.ended;
    },
  };
}
